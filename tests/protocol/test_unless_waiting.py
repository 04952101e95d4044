"""enqueue_unless_waiting: one job of a task waits, however many ask for it."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID

import pytest

from emq_sql.minting import new_id
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger, refused


def ask(ledger: Ledger, task: str = "t", queue: str = "default", **named: Any) -> tuple[UUID, str]:
    """The id, and enqueued, scheduled or duplicate."""
    extra = "".join(f", p_{name} => %s" for name in named)
    query = f"select id, status from emq.enqueue_unless_waiting(%s, %s, '{{}}'{extra})"
    row = ledger.row(query, queue, task, *named.values())
    return row[0], row[1]


def test_one_that_waits_is_answered_instead_of_another(ledger: Ledger) -> None:
    ledger.add(3, task="another")
    id, status = ask(ledger)
    assert status == "enqueued"
    assert ask(ledger) == (id, "duplicate")
    assert ask(ledger, id=new_id(), priority=0, delay="1 h") == (id, "duplicate")
    assert ask(ledger, "other")[1] == ask(ledger, queue="other")[1] == "enqueued"


@pytest.mark.parametrize("named", [{}, {"delay": "1 h"}, {"priority": 4}])
def test_whoever_added_the_one_that_waits_and_wherever_it_does(
    ledger: Ledger, named: dict[str, Any]
) -> None:
    id = ledger.add_one(**named)
    assert ask(ledger) == (id, "duplicate")


def test_a_job_that_has_come_back_waits(ledger: Ledger) -> None:
    held = ledger.start()
    for verb in (ledger.release, lambda held: ledger.retry(held, delay="1 h")):
        verb(held)
        assert ask(ledger) == (held.id, "duplicate")
        if ledger.place(held.id) == "pending":
            held = ledger.take()


def test_what_runs_is_dead_or_has_ended_does_not_wait(ledger: Ledger) -> None:
    held = ledger.start()
    id, status = ask(ledger)
    assert (status, id != held.id) == ("enqueued", True)
    ledger.complete(ledger.take(), held)
    ledger.add_one(max_attempts=1)
    assert ledger.retry(ledger.take()) == ["dead"]
    assert ask(ledger, delay="1 h")[1] == "scheduled"


def test_an_id_that_is_known_is_a_duplicate_when_none_waits(ledger: Ledger) -> None:
    held = ledger.start()
    assert ask(ledger, id=held.id) == (held.id, "duplicate")


def test_the_one_that_waits_begins_only_after_the_asking_transaction(
    ledger: Ledger, other: Ledger
) -> None:
    """Or its run would not see what that has written, and nobody would run for it."""
    id = ledger.add_one()
    scheduled = ledger.add_one("slow", delay="50 ms")
    assert ask(other) == (id, "duplicate")
    assert ask(other, queue="slow") == (scheduled, "duplicate")
    assert ledger.claim() == []
    ledger.wait("not exists (select from emq.scheduled where run_at > clock_timestamp())")
    assert ledger.promote() == 0
    assert ledger.operate("cancel", id) == "busy"
    other.conn.commit()
    assert ledger.promote() == 1
    assert ledger.take().id == id


def test_one_that_is_being_claimed_does_not_wait_any_more(ledger: Ledger, other: Ledger) -> None:
    first = ledger.add_one()
    other.take()
    id, status = ask(ledger)
    assert (status, id != first) == ("enqueued", True)


def test_producers_at_the_same_time_add_one(db: Database, ledger: Ledger) -> None:
    answers: list[tuple[UUID, str]] = []
    start = threading.Barrier(8)

    def produce() -> None:
        mine = Ledger(db.connect())
        start.wait()
        answers.extend(ask(mine) for _ in range(5))

    threads = [threading.Thread(target=produce) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(status for _, status in answers) == ["duplicate"] * 39 + ["enqueued"]
    assert len({id for id, _ in answers}) == 1


def test_who_asks_waits_for_an_open_one_and_sees_what_became_of_it(
    db: Database, ledger: Ledger, other: Ledger
) -> None:
    for commits in (False, True):
        id, _ = ask(other)
        answers: list[tuple[UUID, str]] = []
        mine = Ledger(db.connect())
        thread = threading.Thread(target=lambda a=answers, m=mine: a.append(ask(m)))  # type: ignore[misc]
        thread.start()
        here = "database = (select oid from pg_database where datname = current_database())"
        ledger.wait(
            f"exists (select from pg_locks where locktype = 'advisory' and {here} and not granted)"
        )
        (other.conn.commit if commits else other.conn.rollback)()
        thread.join()
        ((found, status),) = answers
        assert (status, found == id) == (("duplicate", True) if commits else ("enqueued", False))
        ledger.rows("select emq.drain('default')")


def test_an_open_one_is_not_waited_for_for_ever(ledger: Ledger, other: Ledger) -> None:
    function = "emq.enqueue_unless_waiting"
    settings = ledger.one("select proconfig from pg_proc where oid = %s::regproc", function)
    assert "lock_timeout=5s" in settings
    ledger.run(f"alter function {function} set lock_timeout = '50ms'")  # five seconds are long
    ask(other)
    ledger.run("set lock_timeout = 0")
    with refused("55P03"):
        ask(ledger)
    assert ask(ledger, "another")[1] == "enqueued"


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_snapshot_that_may_be_older_than_the_lock_is_refused(ledger: Ledger, level: str) -> None:
    ledger.run(f"set default_transaction_isolation = '{level}'")
    with refused("25001"):
        ask(ledger)
    assert ledger.rows("select * from emq.job") == []
