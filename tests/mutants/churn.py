"""Mutants of what keeps a busy ledger level: floors, vacuums, bounded waits, few records."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant

CHURN = "tests/plans/test_churn.py::"
UPKEEP = "tests/cases/test_upkeep.py::"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "unvacuumed_without_floor",
        CHURN + "test_twenty_thousand_jobs_without_a_vacuum_make_no_verb_touch_more",
        "claim", "r.rank = (p.i - 1)::smallint and r.ord >= p.f\n         order by r.ord limit v_n",
        "r.rank = (p.i - 1)::smallint\n         order by r.ord limit v_n",
    ),
    mutant(
        "vacuumed_by_a_share",
        CHURN + "test_hot_tables_are_vacuumed_after_a_count_of_dead_rows_and_not_a_share",
        "autovacuum", "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000",
        "autovacuum_vacuum_scale_factor = 0.2, autovacuum_vacuum_threshold = 10000",
    ),
    mutant(
        "a_drop_that_waits",
        UPKEEP + "test_upkeep_beside_traffic_makes_no_statement_wait_a_second_and"
        "_leaves_no_index_unfinished",
        "retire", "perform set_config('lock_timeout', '100ms', true);",
        "perform set_config('lock_timeout', '0', true);",
    ),
    mutant(
        "a_record_of_each_pass",
        UPKEEP + "test_two_hundred_passes_make_no_job_and_keep_no_record_of_each",
        "sweep", "or not exists (select 1 from emq.reap_log l where l.at > v_now - interval '5 s')",
        "or true",
    ),
)  # fmt: skip
