"""Mutants of what ends a run in its handler's transaction."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant

SETTLE = "tests/protocol/test_settle.py::"
BOUND = SETTLE + "test_what_is_left_of_the_transaction_is_bounded[1 s-10s-complete]"
SHORTER = SETTLE + "test_shorter_limits_stay_and_a_transaction_that_goes_on_may_take_long"
REPEAT = SETTLE + "test_what_another_transaction_has_settled_is_settled_by_no_later_one[complete]"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "settle_any_fence", SETTLE + "test_a_stale_holder_can_commit_nothing[complete]",
        "settle", "perform emq.hold(p_id, p_fence);",
    ),
    mutant("settled_twice", REPEAT, "settle", "perform emq.hold(p_id, p_fence);"),
    mutant(
        "settle_waits", SETTLE + "test_it_waits_for_no_other_transaction",
        "settle", " for update skip locked;", " for update;",
    ),
    mutant(
        "settle_busy_is_lost", SETTLE + "test_it_waits_for_no_other_transaction",
        "settle", "return 'busy';", "raise exception 'lost' using errcode = 'EQ001';",
    ),
    mutant("settled_for_ever", BOUND, "settle", "v_ms::text, true);", "'0', true);"),
    mutant("bound_of_the_bare_lease", BOUND, "settle", "v_ms := greatest(v_ms, 10000);", ""),
    mutant(
        "bound_outlives_its_transaction", BOUND, "settle",
        "'idle_in_transaction_session_timeout', v_ms::text, true",
        "'idle_in_transaction_session_timeout', v_ms::text, false",
    ),
    mutant(
        "longer_bound", SHORTER, "settle",
        "if v_idle = interval '0' or v_idle > v_ms * interval '1 ms' then", "if true then",
    ),
    mutant(
        "settle_any_verb", SETTLE + "test_a_verb_that_is_none_is_refused", "settle",
        "p_verb not in ('complete', 'retry', 'snooze')", "false",
    ),
    mutant(
        "settle_forgets_the_result", SETTLE + "test_a_result_is_kept_and_a_failure_is_counted",
        "settle", "array[p_result]", "null",
    ),
)  # fmt: skip
