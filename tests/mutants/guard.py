"""Mutants of what keeps a stale holder from committing, and lets its own settlement pass."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant

GUARD = "tests/protocol/test_guard.py::"
COMMIT = "tests/protocol/test_guard_commit.py::"
CURSORS = "tests/protocol/test_guard_cursors.py::"
OUTCOME = "tests/protocol/test_outcome.py::"

BOUND = COMMIT + "test_a_guard_bounds_how_long_the_session_may_idle_in_this_transaction"
SHORTER = COMMIT + "test_a_shorter_bound_stays_and_a_longer_one_does_not"
OWN = COMMIT + "test_the_transaction_that_settled_the_job_passes_and_every_later_one_is_told_so"
WITHIN = f"{OWN}[in a savepoint-complete]"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "guard_any_fence", GUARD + "test_a_stale_fence_cannot_go_on",
        "hold", "a.id = p_id and a.fence = p_fence for key share", "a.id = p_id for key share",
    ),
    mutant(
        "guard_without_lock", GUARD + "test_a_reap_steps_over_a_guard", "hold", " for key share",
    ),
    mutant(
        "guard_locks_too_much", GUARD + "test_an_extension_passes_a_guard",
        "hold", "for key share", "for share",
    ),
    mutant(
        "guard_of_nothing", GUARD + "test_a_stale_fence_cannot_go_on",
        "guard", "emq.hold(p_id, p_fence);", "null;",
    ),
    mutant(
        "guard_commit_of_nothing", COMMIT + "test_one_that_wrote_for_a_lost_job_cannot_commit",
        "guard_commit", "if pg_current_xact_id_if_assigned() is null then", "if true then",
    ),
    mutant(
        "commit_of_any_fence", COMMIT + "test_one_of_a_job_that_is_somebody_elses_cannot_commit",
        "guard_commit", "where a.id = p_id and a.fence = p_fence for", "where a.id = p_id for",
    ),
    mutant(
        "commit_without_lock", COMMIT + "test_one_that_wrote_holds_the_ownership_to_its_end",
        "guard_commit", " for key share skip locked", "",
    ),
    mutant(
        "commit_locks_too_much", COMMIT + "test_an_extension_passes_a_guarded_commit",
        "guard_commit", "for key share skip locked", "for share skip locked",
    ),
    mutant(
        "reading_takes_a_lock",
        COMMIT + "test_a_transaction_that_wrote_nothing_passes_without_a_lock_or_an_xid",
        "guard_commit", "if pg_current_xact_id_if_assigned() is null then", "if false then",
    ),
    mutant(
        "cursors_with_hold_pass",
        CURSORS + "test_what_a_cursor_would_write_in_the_commit_is_not_committed_for_a_lost_job",
        "guard_commit", "if not found or", "if true or",
    ),
    mutant(
        "cursors_of_earlier_transactions_count",
        CURSORS + "test_a_cursor_of_an_earlier_transaction_has_written_what_it_would",
        "guard_commit", " and c.creation_time >= transaction_timestamp()",
    ),
    mutant(
        "cursors_without_hold_count",
        CURSORS + "test_one_that_is_closed_or_ends_with_its_transaction_writes_nothing_later",
        "guard_commit", "where c.is_holdable and", "where",
    ),
    mutant(
        "cursors_of_reading_transactions_count",
        CURSORS + "test_in_a_read_only_transaction_it_cannot_write_and_no_lock_is_taken",
        "guard_commit", " or current_setting('transaction_read_only') = 'on' then", " then",
    ),
    mutant(
        "own_settlement_refused", f"{OWN}[plain-complete]",
        "hold", "if v_ours then", "if false then",
    ),
    mutant(
        "own_retry_refused", f"{OWN}[plain-retry]",
        "end_of", "if how is null then", "if false then",
    ),
    mutant(
        "own_savepoint_refused", WITHIN, "mine",
        "coalesce(pg_xact_status((v_own + v_apart)::text::xid8) = 'in progress', false)",
        "v_apart = 0",
    ),
    mutant(
        "any_settlement_is_own", f"{OWN}[plain-complete]", "mine", "= 'in progress'", "is not null",
    ),
    mutant(
        "any_attempt_is_own", f"{OWN}[plain-snooze]", "end_of",
        "select x.how, emq.mine(x.xmin)", "select x.how, true",
    ),
    mutant(
        "attempts_of_other_fences_count",
        COMMIT + "test_what_another_claim_did_is_not_this_ones_settlement[retry]",
        "end_of", "and x.fence = $2 and x.ended_at >= $3", "and x.ended_at >= $3",
    ),
    mutant(
        "completions_of_other_fences_count",
        COMMIT + "test_what_another_claim_did_is_not_this_ones_settlement[complete]",
        "end_of", "and x.fence = $2 and x.finished_at >= $3", "and x.finished_at >= $3",
    ),
    mutant(
        "finished_is_lost", f"{OWN}[plain-snooze]",
        "hold", "'timed out', 'snoozed') then", "'timed out') then",
    ),
    mutant(
        "released_is_finished", f"{OWN}[plain-release]",
        "hold", "'timed out', 'snoozed') then", "'timed out', 'snoozed', 'released') then",
    ),
    mutant(
        "released_is_given_back",
        OUTCOME + "test_who_lost_a_job_is_not_told_that_he_gave_it_back[release]",
        "outcome", "where e.how in ('failed', 'snoozed');",
        "where e.how in ('failed', 'snoozed', 'released');",
    ),
    mutant(
        "frozen_for_ever",
        f"{BOUND}[1 s-10s]",
        "guard", "perform emq.bound(v_lease_ms, false);", "null;",
    ),
    mutant(
        "bounded_for_good",
        f"{BOUND}[5 min-5min]",
        "bound", "v_ms::text, true);\n  end if;\nend", "v_ms::text, false);\n  end if;\nend",
    ),
    mutant(
        "bound_without_floor",
        f"{BOUND}[1 s-10s]",
        "bound", "greatest(p_lease_ms, 10000)", "p_lease_ms",
    ),
    mutant(
        "bound_loosened", SHORTER,
        "bound", "if v_idle = '0' or v_idle::interval > v_ms * interval '1 ms' then",
        "if true then",
    ),
    mutant(
        "bound_kept", COMMIT + "test_a_shorter_bound_stays_and_a_longer_one_does_not",
        "bound", " or v_idle::interval > v_ms * interval '1 ms' then", " then",
    ),
    mutant(
        "commit_unbounded",
        COMMIT + "test_what_is_left_after_a_guarded_commit_is_bounded_as_a_whole[30 s-30s]",
        "guard_commit",
        "perform set_config('transaction_timeout', greatest(v_lease_ms, 10000)::text, true);",
        "null;",
    ),
    mutant(
        "commit_bounded_without_floor",
        COMMIT + "test_what_is_left_after_a_guarded_commit_is_bounded_as_a_whole[1 s-10s]",
        "guard_commit", "greatest(v_lease_ms, 10000)", "v_lease_ms",
    ),
    mutant(
        "given_back_is_superseded",
        OUTCOME + "test_who_gave_a_job_back_is_told_so_whoever_has_it_since[retry]",
        "outcome", "where e.how in ('failed', 'snoozed');", "where false;",
    ),
    mutant(
        "taken_away_is_given_back",
        OUTCOME + "test_who_lost_a_job_is_not_told_that_he_gave_it_back[reap]",
        "outcome", "where e.how in ('failed', 'snoozed');", ";",
    ),
    mutant(
        "open_is_final",
        OUTCOME + "test_an_outcome_is_busy_until_the_transaction_that_settles_the_job_is_over",
        "decided", "case when v_outcome = 'yours' then 'busy' else v_outcome end", "v_outcome",
    ),
    mutant(
        "decided_minds_guards", OUTCOME + "test_a_guard_settles_nothing_and_is_not_waited_for",
        "decided", "for no key update skip locked", "for update skip locked",
    ),
)  # fmt: skip
