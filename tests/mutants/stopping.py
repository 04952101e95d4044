"""Mutants of the wish that a cancelled job's own SQL should end."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant

ONE = "tests/protocol/test_sql_stops.py::test_a_wish_is_for_one_job_and_a_cancel_alone_is_none"
UNKNOWN = "tests/protocol/test_sql_stops.py::test_nothing_is_recorded_of_a_job_that_nobody_knows"

MUTANTS: tuple[Mutant, ...] = (
    mutant("every_cancel_stops_sql", ONE, "sql_stops", " and a.verb = 'stop sql'"),
    mutant("sql_of_others_stops", ONE, "sql_stops", "a.id = u and a.verb", "a.verb"),
    mutant(
        "wish_for_anything",
        UNKNOWN,
        "stop_sql",
        "j.queue, j.id, p_label from emq.job j where j.id = p_id",
        "null, p_id, p_label",
    ),
)
