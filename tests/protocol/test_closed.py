"""closed: a day gets no more rows once every writer that may have read its clock has ended."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.protocol.calls import Ledger
from tests.protocol.history import days_ago


def closed(ledger: Ledger, day: date) -> tuple[str, str | None]:
    status, held_by = ledger.row("select status, held_by from emq.closed(%s)", day)
    return status, held_by


@pytest.fixture
def day(ledger: Ledger) -> date:
    return days_ago(ledger, 10)


def finish_cancelled(writer: Ledger) -> None:
    (id,) = writer.add()
    writer.conn.commit()
    assert writer.operate("cancel", id) == "done"


def finish_discarded(writer: Ledger) -> None:
    id = writer.add_one(max_attempts=1)
    writer.retry(writer.take(), error="boom")
    writer.conn.commit()
    assert writer.operate("discard", id) == "done"


def finish_completed(writer: Ledger) -> None:
    held = writer.start()
    writer.conn.commit()
    assert writer.complete(held) == ["done"]


def finish_drained(writer: Ledger) -> None:
    writer.add()
    writer.conn.commit()
    assert writer.one("select cancelled from emq.drain('default')") == 1


WRITERS = (finish_completed, finish_cancelled, finish_discarded, finish_drained)


def test_a_day_that_is_not_over_by_an_hour_is_open(ledger: Ledger, day: date) -> None:
    assert closed(ledger, day + timedelta(10)) == ("open", None)
    assert ledger.one("select count(*) from emq.day_end") == 0


def test_a_day_is_closed_from_the_second_look_on(ledger: Ledger, day: date) -> None:
    assert closed(ledger, day) == ("held", None)
    assert closed(ledger, day) == ("closed", None)
    assert closed(ledger, day) == ("closed", None)


def test_whoever_finished_a_job_before_the_first_look_holds_the_day_and_is_named(
    ledger: Ledger, other: Ledger, day: date
) -> None:
    """It may have read the clock on that day: nothing says when it did."""
    other.run("set application_name to 'slow importer'")
    other.conn.commit()
    for finish in WRITERS:
        day -= timedelta(1)
        finish(other)
        closed(ledger, day)
        pid = other.conn.info.backend_pid
        expected = f"process {pid} (slow importer, user {other.conn.info.user})"
        assert closed(ledger, day) == ("held", expected), finish
        other.conn.commit()
        assert closed(ledger, day) == ("closed", None), finish


def test_whoever_finishes_a_job_after_the_first_look_does_not_hold_the_day(
    ledger: Ledger, other: Ledger, day: date
) -> None:
    closed(ledger, day)
    finish_completed(other)
    assert closed(ledger, day) == ("closed", None)
    other.conn.rollback()


def test_a_transaction_that_has_finished_no_job_does_not_hold_the_day(
    ledger: Ledger, other: Ledger, day: date
) -> None:
    other.one("select pg_current_xact_id()::text")
    closed(ledger, day)
    assert closed(ledger, day) == ("closed", None)
    other.conn.rollback()


def test_a_prepared_transaction_holds_the_day_and_is_named(
    ledger: Ledger, other: Ledger, day: date
) -> None:
    other.conn.commit()
    xid = other.conn.xid(1, "of-the-test", "b")
    other.conn.tpc_begin(xid)
    held = other.start()
    other.complete(held)
    other.conn.tpc_prepare()
    closed(ledger, day)
    assert closed(ledger, day) == ("held", f"prepared transaction {xid}")
    other.conn.tpc_commit()
    assert closed(ledger, day) == ("closed", None)


def test_a_note_from_another_server_is_taken_anew(ledger: Ledger, day: date) -> None:
    """As after a restore: its transaction ids are ahead of those that are given here."""
    ledger.run("insert into emq.day_end (day, xid) values (%s, '9000000000000000000')", day)
    assert closed(ledger, day) == ("held", None)
    assert closed(ledger, day) == ("closed", None)
