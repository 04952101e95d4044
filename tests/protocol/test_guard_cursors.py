"""guard_commit and cursors WITH HOLD: their query runs in the COMMIT, and may write."""

from __future__ import annotations

import pytest

from tests.protocol.calls import Held, Ledger, refused
from tests.protocol.test_guard_commit import guard_commit

OPEN = "declare later cursor with hold for select write(1)"
XID = "select pg_current_xact_id_if_assigned()::text"


@pytest.fixture
def effects(ledger: Ledger) -> None:
    ledger.run("create table effect (n int)")
    ledger.run(
        "create function write(n int) returns int language sql volatile"
        " as 'insert into effect values (n) returning n'"
    )


def written(ledger: Ledger) -> int:
    return int(ledger.one("select count(*) from effect"))


@pytest.mark.usefixtures("effects")
def test_what_a_cursor_would_write_in_the_commit_is_not_committed_for_a_lost_job(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.abandoned()
    ledger.reap()
    other.run(OPEN)
    assert other.one(XID) is None  # nothing is written yet
    with refused("EQ001", hint="roll back", names=held.id):
        guard_commit(other, held)
    other.conn.commit()
    assert written(ledger) == 0


@pytest.mark.usefixtures("effects")
def test_its_holder_commits_it_and_holds_the_job_until_then(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    other.run(OPEN)
    assert guard_commit(other, held) == "guarded"
    assert ledger.complete(held) == ["busy"]
    other.conn.commit()
    assert written(ledger) == 1
    assert ledger.complete(held) == ["done"]


def lost(ledger: Ledger) -> Held:
    held = ledger.abandoned()
    ledger.reap()
    return held


@pytest.mark.usefixtures("effects")
def test_a_cursor_of_an_earlier_transaction_has_written_what_it_would(
    ledger: Ledger, other: Ledger
) -> None:
    other.run(OPEN)
    other.conn.commit()
    other.rows("fetch all from later")
    assert guard_commit(other, lost(ledger)) == "nothing"
    assert other.one(XID) is None


@pytest.mark.usefixtures("effects")
def test_one_that_is_closed_or_ends_with_its_transaction_writes_nothing_later(
    ledger: Ledger, other: Ledger
) -> None:
    other.run("declare brief cursor for select write(1)")
    other.run(OPEN)
    other.run("close later")
    assert guard_commit(other, lost(ledger)) == "nothing"
    other.conn.commit()
    assert written(ledger) == 0


@pytest.mark.usefixtures("effects")
def test_in_a_read_only_transaction_it_cannot_write_and_no_lock_is_taken(
    ledger: Ledger, other: Ledger
) -> None:
    other.run("set transaction read only")
    other.run("declare later cursor with hold for select * from effect")
    assert guard_commit(other, lost(ledger)) == "nothing"
    other.conn.commit()
    other.run("set transaction read only")
    other.run("close later")
    other.run(OPEN)
    with refused("25006"):
        other.conn.commit()
    assert written(ledger) == 0
