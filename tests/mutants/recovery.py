"""Mutants of the one path by which a claim ends without completion, and of what hangs on it."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant, settings_off

PROTOCOL = "tests/protocol/"
ON_DEAD = PROTOCOL + "test_on_dead.py::"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "timeouts_are_free",
        PROTOCOL
        + "test_fail.py::test_a_failure_out_of_budget_is_a_dead_letter_with_its_reason[timeout]",
        "end_runs",
        "in ('exception', 'timeout', 'permanent')",
        "in ('exception', 'permanent')",
    ),
    mutant(
        "timeouts_never_kill",
        PROTOCOL
        + "test_fail.py::test_a_failure_out_of_budget_is_a_dead_letter_with_its_reason[timeout]",
        "end_runs",
        "when 'timeout' then r.s + r.f >= coalesce(j.max_attempts, q.max_attempts, 25)",
        "when 'timeout' then false",
    ),
    mutant(
        "permanent_is_retried",
        PROTOCOL + "test_fail.py::test_what_no_retry_can_help_is_dead_at_once[permanent]",
        "end_runs",
        "when 'permanent' then true",
        "when 'permanent' then false",
    ),
    mutant(
        "expired_is_retried",
        PROTOCOL + "test_fail.py::test_what_no_retry_can_help_is_dead_at_once[expired]",
        "end_runs",
        "when 'expired' then true",
        "when 'expired' then false",
    ),
    mutant(
        "unknown_for_ever",
        PROTOCOL
        + "test_fail.py::test_a_job_that_nobody_knows_is_dead_when_its_queue_has_waited_enough",
        "end_runs",
        "coalesce(j.enqueued_at < clock_timestamp() - q.unknown_after, false)",
        "false",
    ),
    mutant(
        "unknown_dies_at_once",
        PROTOCOL + "test_fail.py::test_a_job_that_nobody_knows_waits_at_no_cost",
        "end_runs",
        "coalesce(j.enqueued_at < clock_timestamp() - q.unknown_after, false)",
        "true",
    ),
    mutant(
        "any_reason",
        PROTOCOL + "test_fail.py::test_another_reason_is_refused_and_nothing_is_done[stalled]",
        "fail",
        "'permanent', 'expired', 'no handler')",
        "'permanent', 'expired', 'no handler', 'stalled')",
    ),
    mutant(
        "fewer_reasons_than_jobs",
        PROTOCOL + "test_fail.py::test_a_reason_is_needed_for_each",
        "fail",
        "cardinality(p_reasons) is distinct from cardinality(p_ids)",
        "false",
    ),
    mutant(
        "quarantine_after_failures",
        PROTOCOL + "test_quarantine.py::test_failures_do_not_lead_there",
        "end_runs",
        "case when r.ended = 'stalled' and r.s >= coalesce(q.quarantine_after, 2)",
        "case when r.s + r.f >= coalesce(q.quarantine_after, 2)",
    ),
    mutant(
        "quarantine_unknown_to_the_envelope",
        PROTOCOL + "test_quarantine.py::test_an_operator_finds_it_where_it_waits",
        "end_runs",
        "if v_moved is not null then",
        "if false then",
    ),
    mutant(
        "no_hook",
        ON_DEAD + "test_the_hook_is_a_job_and_the_same_but_for_the_reason[stalled]",
        "end_runs",
        "if v_hooks and exists",
        "if false and exists",
    ),
    mutant(
        "hook_of_the_hook",
        ON_DEAD + "test_a_dead_letter_of_the_hook_itself_tells_nobody",
        "tell_dead",
        "     where not coalesce(j.headers ? 'emq-on-dead', false)\n",
    ),
    mutant(
        "last_chance_without_a_lost_lease",
        PROTOCOL + "test_last_chance.py::test_failures_bring_it_nearer_only_once_a_lease_was_lost",
        "last_chance",
        "where a.stalled > 0\n       and",
        "where",
    ),
    mutant(
        "last_chance_by_id_alone",
        PROTOCOL + "test_last_chance.py::test_of_a_stale_fence_it_says_nothing",
        "last_chance",
        " and y.fence = k.fence",
    ),
    mutant(
        "late_extensions_unrecorded",
        PROTOCOL + "test_late.py::test_an_extension_after_its_deadline_is_done_and_recorded",
        "extend",
        "from e where e.was < clock_timestamp()",
        "from e where false",
    ),
    mutant(
        "every_extension_is_late",
        PROTOCOL + "test_late.py::test_one_in_time_and_one_that_is_refused_leave_no_record",
        "extend",
        " where e.was < clock_timestamp()",
    ),
    mutant(
        "deadline_not_kept",
        PROTOCOL + "test_late.py::test_the_archive_keeps_the_last_deadline",
        "complete",
        "'completed', d.queue, d.worker, d.result, d.lease_deadline",
        "'completed', d.queue, d.worker, d.result, null",
    ),
    mutant(
        "max_active_counted_by_two_at_once",
        PROTOCOL
        + "test_max_active.py::test_while_somebody_claims_others_get_nothing_and_do_not_wait",
        "claim",
        "if not pg_try_advisory_xact_lock(",
        "if false and not pg_try_advisory_xact_lock(",
    ),
    mutant(
        "max_active_of_all_queues",
        PROTOCOL + "test_max_active.py::test_other_queues_do_not_count",
        "claim",
        "from emq.active a where a.queue = p_queue;",
        "from emq.active a;",
    ),
    mutant(
        "settings_of_any_name",
        PROTOCOL + "test_set_queue.py::test_one_that_cannot_be_is_refused_and_nothing_is_changed",
        "refuse_settings",
        "where k <> all (p_known)",
        "where false",
    ),
    settings_off(
        "last_chance_without_settings",
        "tests/plans/test_plans.py::test_no_function_walks_a_whole_hot_table[truncated-fail]",
        "last_chance",
    ),
)
