"""Partitions of archive and attempt: made ahead, beside open work, never in the way of upkeep."""

from __future__ import annotations

from datetime import date, timedelta
from typing import cast

import pytest

from tests.protocol.calls import Held, Ledger


def today(ledger: Ledger) -> date:
    return cast(date, ledger.one("select (now() at time zone 'utc')::date"))


def days(ledger: Ledger, parent: str) -> list[date]:
    names = ledger.column(
        "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " where i.inhparent = %s::regclass and c.relname !~ 'default' order by 1", f"emq.{parent}",
    )  # fmt: skip
    return [date(int(name[-8:-4]), int(name[-4:-2]), int(name[-2:])) for name in names]


def finished_on(ledger: Ledger, day: date) -> Held:
    """A job that finished on another day: rows are moved, because a clock cannot be."""
    held = ledger.start("moved")
    ledger.complete(held)
    ledger.run(
        "update emq.archive set finished_at = %s + interval '1 h' where id = %s", day, held.id
    )
    return held


@pytest.mark.parametrize("parent", ["archive", "attempt"])
def test_the_schema_comes_with_yesterday_today_and_three_days_ahead(
    ledger: Ledger, parent: str
) -> None:
    ledger.maintain()
    assert days(ledger, parent) == [today(ledger) + timedelta(d) for d in range(-1, 4)]


def test_what_happens_now_is_not_in_the_defaults(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.retry(held)
    ledger.complete(ledger.take())
    assert ledger.one("select count(*) from emq.archive_default") == 0
    assert ledger.one("select count(*) from emq.attempt_default") == 0


def test_days_are_made_beside_an_open_completion_and_an_open_look_up(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    other.complete(held)
    other.outcome(held)
    other.complete((ledger.one("select emq.uuid7()"), 5))
    assert ledger.one("select emq.archive_days(6)") == 6
    other.conn.rollback()
    assert ledger.one("select emq.archive_days(6)") == 0


def test_rows_in_the_default_stop_their_own_day_only_and_not_maintain(ledger: Ledger) -> None:
    blocked = today(ledger) + timedelta(5)
    finished_on(ledger, blocked)
    assert ledger.one("select count(*) from emq.archive_default") == 1
    assert ledger.maintain()
    made = ledger.one("select emq.archive_days(6)")
    assert made == 5
    assert blocked not in days(ledger, "archive")
    assert today(ledger) + timedelta(6) in days(ledger, "archive")
    ledger.run("update emq.archive set finished_at = now()")
    assert ledger.one("select emq.archive_days(6)") == 1
    assert blocked in days(ledger, "archive")


def test_a_lock_that_is_not_had_is_said_and_the_next_call_makes_the_rest(
    ledger: Ledger, other: Ledger
) -> None:
    other.run("lock table emq.archive_default in share mode")
    assert ledger.one("select emq.archive_days(6)") == -1
    other.conn.rollback()
    assert ledger.one("select emq.archive_days(6)") == 6


def test_a_job_that_finished_in_no_day_that_exists_is_found_all_the_same(ledger: Ledger) -> None:
    """The default is the net."""
    held = ledger.start()
    ledger.run("drop table emq.archive_" + f"{today(ledger):%Y%m%d}")
    assert ledger.complete(held) == ["done"]
    assert ledger.complete(held) == ["done"]
    assert ledger.outcome(held) == "completed"


LOCKED = """
select count(*) from pg_locks where pid = pg_backend_pid()
   and relation in (select oid from pg_class where relname ~ '^archive')
"""


def test_a_look_up_locks_few_partitions_and_an_enqueue_none(ledger: Ledger, other: Ledger) -> None:
    ledger.rows("select emq.archive_days(30), emq.archive_days(5, current_date - 45)")
    for _ in range(8):  # long enough for a cached plan to be taken
        for id, most in (
            # In the last hour of a day the look goes into the next one.
            (ledger.one("select emq.uuid7()"), 10),
            (ledger.one("select emq.job_id('x', now() - interval '2 d')"), 16),
        ):
            other.outcome((id, 1))
            assert other.one(LOCKED) <= most
            other.conn.rollback()
            other.complete((id, 1))
            assert other.one(LOCKED) <= most
            other.conn.rollback()
        other.add()
        other.add_many([ledger.one("select emq.uuid7()")])
        other.claim(5)
        assert other.one(LOCKED) == 0
        other.conn.rollback()


def test_a_day_that_cannot_be_made_keeps_no_other_from_being_made(ledger: Ledger) -> None:
    later = ledger.one("select (now() at time zone 'utc')::date + 50")
    assert ledger.one("select emq.archive_days(0, %s)", later) == 4
    ledger.run(f"alter table emq.archive_{later:%Y%m%d} rename to archive_by_hand")
    assert ledger.one("select emq.archive_days(2, %s)", later) == -1 - 4
    days = ledger.column("select to_regclass('emq.attempt_' || to_char(%s::date + g, 'YYYYMMDD'))"
                         " is not null from generate_series(-1, 2) g", later)  # fmt: skip
    assert days == [True] * 4
