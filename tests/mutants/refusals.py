"""Mutants of what is on record of refusals, and of the inbox's retention."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant

REFUSALS = "tests/protocol/test_refusals.py::"
PLANS = "tests/plans/test_refusal_plans.py::"
ONCE = "tests/protocol/test_once.py::"
INBOX = "tests/protocol/test_inbox_retention.py::"

INSTANT = REFUSALS + "test_a_note_is_of_the_instant_at_which_the_refusal_was_met"
REPEATED = REFUSALS + "test_a_note_sent_again_is_recorded_once_and_another_one_is_another_one"
NOBODY = REFUSALS + "test_a_fence_that_nobody_had_costs_nobody_anything"
OLD_KEYS = INBOX + "test_old_keys_go_in_bounded_steps_and_younger_ones_stay"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "ended_claims_are_late",
        REFUSALS + "test_whose_claim_ended_before_its_lease_did_is_not_late[released]",
        "record_refusals", "t.lease_deadline <= t.ended_at and ",
    ),
    mutant("late_before_its_deadline", INSTANT, "record_refusals", " and t.lease_deadline < k.at"),
    mutant(
        "beside_a_claim_to_come", INSTANT, "record_refusals", " and n.claimed_at < k.at", "",
    ),
    mutant(
        "overlap_without_end",
        REFUSALS + "test_the_overlap_ends_with_the_next_attempt_however_late_the_refusal",
        "record_refusals", "least(k.at, n.ended_at)", "k.at",
    ),
    mutant(
        "overlap_with_the_last",
        REFUSALS + "test_of_several_later_attempts_the_next_one_counts",
        "record_refusals", "order by y.attempts limit 1", "order by y.attempts desc limit 1",
    ),
    mutant(
        "overlap_of_nobody", NOBODY, "record_refusals", "t.queue is not null and ",
    ),
    mutant(
        "an_attempt_below_one", NOBODY, "record_refusals", "case when k.fence >> 40 > 0 then",
        "case when true then",
    ),
    mutant(
        "meeting_its_own_end_is_a_refusal",
        REFUSALS + "test_an_extension_that_meets_its_own_holders_settlement_is_no_refusal[snooze]",
        "record_refusals", "k.verb = 'extend' and t.how in", "false and t.how in",
    ),
    mutant(
        "any_extension_of_what_ended_is_none",
        REFUSALS + "test_an_extension_of_what_an_operator_took_back_is_a_refusal",
        "record_refusals", "'timed out', 'snoozed')", "'timed out', 'snoozed', 'released')",
    ),
    mutant(
        "a_repeat_is_a_refusal",
        REFUSALS + "test_a_completion_repeated_under_the_fence_that_completed_it_is_no_refusal",
        "record_refusals", "or k.verb = 'complete' and t.how = 'completed'",
    ),
    mutant(
        "refusals_lock_every_day", PLANS + "test_a_refusal_locks_no_older_day",
        "record_refusals", ">= $5", ">= '-infinity'",
    ),
    mutant(
        "one_old_job_makes_all_old",
        PLANS + "test_one_old_job_among_fresh_ones_costs_itself_alone",
        "record_refusals", "and e.ended_at >= k.since ",
    ),
    mutant(
        "live_claims_are_noted", REFUSALS + "test_nothing_is_noted_of_a_claim_that_is_held",
        "note_refusals", "where a.fence is distinct from k.fence", "where true",
    ),
    mutant(
        "notes_without_a_fence",
        REFUSALS + "test_nothing_is_noted_of_what_has_no_fence[fewer]",
        "note_refusals", " and u.fence is not null",
    ),
    mutant(
        "once_waits_for_ever", ONCE + "test_it_does_not_wait_for_ever", "once",
        "perform set_config('lock_timeout', '5s', true)", "perform null",
    ),
    mutant(
        "once_waits_longer_than_it_may",
        ONCE + "test_a_shorter_wait_of_the_callers_stays_short", "once",
        "where v_wait::interval = interval '0' or v_wait::interval > interval '5 s'", "where true",
    ),
    mutant(
        "once_leaves_its_wait_behind",
        ONCE + "test_after_it_the_transaction_waits_for_locks_as_before[7s]", "once",
        "perform set_config('lock_timeout', v_wait, true);", "",
    ),
    mutant("notes_are_of_now", INSTANT, "note_refusals", "coalesce(u.ago, '0')", "interval '0'"),
    mutant(
        "sent_again_is_met_again", REPEATED, "note_refusals", "coalesce(p_again, false)", "false",
    ),
    mutant("again_minds_no_verb", REPEATED, "note_refusals", " and r.verb = k.verb"),
    mutant(
        "a_note_of_ages_ago_raises", REFUSALS + "test_nothing_that_can_be_given_raises",
        "note_refusals", ", interval '1 year')", ", interval '1000000 years')",
    ),
    mutant("keys_of_any_age_go", OLD_KEYS, "tidy_inbox", "r.at < v_before", "true"),
    mutant("keys_go_at_once", OLD_KEYS, "tidy_inbox", "limit p_limit", ""),
    mutant("keys_never_go", OLD_KEYS, "tidy", "'inbox', ", ""),
    mutant(
        "other_settings_reset_the_inbox", INBOX + "test_other_settings_leave_it_alone",
        "set_ledger", "else m.inbox_retention end", "else interval '30 days' end",
    ),
    mutant(
        "settings_for_ever",
        "tests/protocol/test_set_queue.py::test_no_setting_of_the_ledger_is_infinite[retention]",
        "finite", "if not isfinite(p_length) or p_length >= interval '2000000 years'\n     or",
        "if",
    ),
    mutant(
        "keys_may_go_too_soon",
        INBOX + "test_a_retention_that_cannot_be_is_refused_in_words[59 min-inbox_retention is 1"
        " hour or more]",
        "inbox", "check (inbox_retention >= interval '1 hour')", "check (true)",
    ),
)  # fmt: skip
