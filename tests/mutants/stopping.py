"""Mutants of the wish that a cancelled job's own SQL should end."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant

ONE = "tests/protocol/test_sql_stops.py::test_a_wish_is_for_one_job_and_a_cancel_alone_is_none"
NOTHING = (
    "tests/protocol/test_sql_stops.py::"
    "test_a_wish_that_came_to_nothing_ends_no_sql_of_a_later_plain_cancel"
)
LATE = (
    "tests/protocol/test_sql_stops.py::"
    "test_a_wish_with_its_cancel_stands_however_late_its_worker_asks"
)
AFTER = "tests/protocol/test_sql_stops.py::test_a_wish_after_the_cancel_is_not_of_it"
UNKNOWN = "tests/protocol/test_sql_stops.py::test_nothing_is_recorded_of_a_job_that_nobody_knows"

MUTANTS: tuple[Mutant, ...] = (
    mutant("every_cancel_stops_sql", ONE, "sql_stops", " and a.verb = 'stop sql'"),
    mutant("sql_of_others_stops", ONE, "sql_stops", "a.id = u and a.verb", "a.verb"),
    mutant("wishes_stay", NOTHING, "sql_stops",
           "a.at > clock_timestamp() - interval '1 min'", "true"),
    mutant("any_later_cancel_is_meant", NOTHING, "sql_stops",
           "between a.at and a.at + interval '1 min'", ">= a.at"),
    mutant("an_earlier_cancel_is_meant", AFTER, "sql_stops", "c.at between a.at and", "c.at <="),
    mutant("wishes_end_in_a_minute", LATE, "sql_stops", "where c.id = u and c.verb = 'cancel'",
           "where false"),
    mutant("wishes_for_others_cancelled", LATE, "sql_stops",
           "where c.id = u and c.verb", "where c.verb"),
    mutant(
        "wish_for_anything",
        UNKNOWN,
        "stop_sql",
        "j.queue, j.id, p_label from emq.job j where j.id = p_id",
        "null, p_id, p_label",
    ),
)  # fmt: skip
