"""Mutants of what ends a run in its handler's transaction."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant

SETTLE = "tests/protocol/test_settle.py::"
BOUND = SETTLE + "test_a_transaction_that_goes_on_is_bounded_while_it_idles[1 s-10s-complete]"
WHOLE = SETTLE + "test_what_is_left_of_the_transaction_is_bounded[1 s-10s-complete]"
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
    mutant("settled_for_ever", BOUND, "settle", "perform emq.bound(v_lease_ms, p_last);", ""),
    mutant(
        "every_end_is_the_last", SHORTER, "settle",
        "perform emq.bound(v_lease_ms, p_last);", "perform emq.bound(v_lease_ms, true);",
    ),
    mutant(
        "bound_of_the_bare_lease", BOUND, "bound", "greatest(p_lease_ms, 10000)", "p_lease_ms",
    ),
    mutant(
        "bound_outlives_its_transaction", BOUND, "bound",
        "'idle_in_transaction_session_timeout', v_ms::text, true",
        "'idle_in_transaction_session_timeout', v_ms::text, false",
    ),
    mutant("whole_unbounded", WHOLE, "bound", "if p_last and", "if false and"),
    mutant(
        "whole_outlives_its_transaction", WHOLE, "bound",
        "'transaction_timeout', v_ms::text, true", "'transaction_timeout', v_ms::text, false",
    ),
    mutant(
        "bound_by_a_long_whole_alone", SHORTER, "bound",
        "if p_last and current_setting('transaction_timeout', true) = '0' then",
        "if p_last and current_setting('transaction_timeout', true) is not null then",
    ),
    mutant(
        "longer_bound", SHORTER, "bound",
        "if v_idle = '0' or v_idle::interval > v_ms * interval '1 ms' then", "if true then",
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
