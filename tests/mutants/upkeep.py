"""Mutants of the loop that schedulers start."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant

LOOP = "tests/protocol/test_maintain_loop.py::"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "loop_in_one_transaction",
        LOOP + "test_what_a_pass_has_done_is_committed_while_the_call_goes_on",
        "maintain_loop",
        "    commit;\n    set transaction isolation level read committed;\n",
    ),
    mutant(
        "loop_in_any_isolation",
        LOOP + "test_the_floors_rise_whatever_isolation_is_the_default",
        "maintain_loop",
        "    set transaction isolation level read committed;\n",
    ),
    mutant(
        "loop_by_the_callers_path",
        LOOP + "test_a_schema_in_front_of_the_path_changes_nothing",
        "maintain_loop",
        "    set local search_path = pg_catalog, pg_temp;\n",
    ),
    mutant(
        "loop_sleeps_in_one_snapshot",
        LOOP + "test_while_it_sleeps_it_holds_no_lock_and_no_old_snapshot",
        "maintain_loop",
        "least(1, extract(epoch from v_next - clock_timestamp()))",
        "extract(epoch from v_next - clock_timestamp())",
    ),
    mutant(
        "loop_waits_after_a_full_pass",
        LOOP + "test_a_full_pass_is_followed_at_once_by_the_next",
        "maintain_loop",
        "        if v_full then\n          v_next := clock_timestamp();\n        end if;\n",
    ),
    mutant(
        "loop_ends_before_all_is_tidy",
        LOOP + "test_what_is_old_is_tidied_in_one_call_step_by_step",
        "maintain_loop",
        " and (not v_tidying or clock_timestamp() >= v_until)",
    ),
    mutant(
        "loop_ends_with_a_pass_that_fails",
        LOOP + "test_a_pass_that_fails_is_a_warning_and_the_next_ones_go_on",
        "maintain_loop",
        "when others then\n        v_failed",
        "when division_by_zero then\n        v_failed",
    ),
    mutant(
        "loop_ends_with_tidying_that_fails",
        LOOP + "test_trouble_with_what_is_old_disturbs_no_reap_and_is_told_at_the_end",
        "maintain_loop",
        "when others then\n        v_tidying",
        "when division_by_zero then\n        v_tidying",
    ),
    mutant(
        "loop_undoes_its_last_pass",
        LOOP + "test_trouble_with_what_is_old_disturbs_no_reap_and_is_told_at_the_end",
        "maintain_loop",
        "  end loop;\n  commit;\n",
        "  end loop;\n",
    ),
    mutant(
        "loop_ends_well_whatever_failed",
        LOOP + "test_a_last_pass_that_failed_is_told_at_the_end",
        "maintain_loop",
        "v_failed is not null or v_untidy is not null then",
        "false then",
    ),
    mutant(
        "loop_without_a_pause",
        LOOP + "test_numbers_that_cannot_be_are_refused_and_nothing_is_done",
        "maintain_loop",
        " or p_every < interval '100 ms'",
    ),
)
