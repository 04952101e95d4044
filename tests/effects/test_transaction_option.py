"""A task with a transaction: its function gets the session, and what it returns is the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from emq_sql import EMQ, Job
from emq_sql.errors import BadPayload, BadSetting
from tests.effects.test_transaction import AS_ONE, EFFECTS, ENDS, write
from tests.worker.conftest import Bench

KINDS: dict[Any, type] = {
    True: Session,
    "session": Session,
    "connection": Connection,
    "psycopg": psycopg.Connection,
}


@pytest.fixture
def work(bench: Bench) -> Callable[..., None]:
    """Runs one job of this function, registered with these options."""
    bench.reader.execute("create table effect (n int)")
    emq = EMQ(bench.db.dsn, bell=False)

    def works(function: Callable[..., Any], *args: Any, **options: Any) -> None:
        register: Any = emq.task(**options)
        task = register(function)
        task.enqueue(*args)
        bench.handlers.update(emq.handlers)
        bench.burst()

    return works


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_called_with_its_handle_and_all_is_one_transaction(
    bench: Bench, work: Callable[..., None], kind: Any
) -> None:
    given: list[Any] = []

    def ship(handle: Any, order: int, *, to: str = "here") -> dict[str, Any]:
        given.append(type(handle))
        write(handle, order)
        assert bench.rows(EFFECTS) == [(0,)]
        return {"order": order, "to": to}

    work(ship, 7, transaction=kind)
    assert issubclass(given[0], KINDS[kind])
    assert bench.rows(AS_ONE) == [(True,)]
    assert bench.rows("select result from emq.archive") == [({"order": 7, "to": "here"},)]


def test_the_job_comes_first_and_has_the_last_word(bench: Bench, work: Callable[..., None]) -> None:
    def ship(job: Job, session: Session, order: int) -> str:
        write(session, order)
        assert job.once("shipped")
        job.snooze(3600)
        return "is not the result"

    work(ship, 7, transaction=True, takes_context=True)
    assert bench.rows(AS_ONE) == [(True,)]
    assert bench.rows(ENDS) == [("snoozed",)]
    assert bench.rows("select key from emq.inbox") == [("shipped",)]


def test_what_it_raises_leaves_neither(bench: Bench, work: Callable[..., None]) -> None:
    def ship(session: Session) -> None:
        write(session)
        raise ValueError("on purpose")

    work(ship, transaction=True, backoff=3600.0)
    assert bench.rows(EFFECTS) == [(0,)]
    ((error,),) = bench.rows("select error from emq.attempt")
    assert "on purpose" in error and "worker/transacting.py" not in error
    assert "in ship" in error.splitlines()[1], error


def test_a_result_that_cannot_be_stored_does_not_undo_the_work(
    bench: Bench, work: Callable[..., None]
) -> None:
    def ship(session: Session) -> set[int]:
        write(session)
        return {1}

    work(ship, transaction=True)
    assert bench.rows(AS_ONE) == [(True,)]
    ((result,),) = bench.rows("select result from emq.archive")
    assert "emq_unstorable" in result


def test_what_returns_an_awaitable_is_not_committed(
    bench: Bench, work: Callable[..., None]
) -> None:
    async def later() -> None:
        raise AssertionError("this is never run")

    def ship(session: Session) -> Any:
        write(session)
        return later()

    work(ship, transaction=True, backoff=3600.0)
    assert bench.rows(EFFECTS) == [(0,)]
    ((error,),) = bench.rows("select error from emq.attempt")
    assert "returned an awaitable" in error


def test_arguments_are_checked_without_what_the_worker_gives() -> None:
    emq = EMQ("postgresql://nowhere/x", bell=False)

    @emq.task(transaction=True, takes_context=True)
    def ship(job: Job, session: Session, order: int) -> int:
        return order

    ship.job(7)
    ship.job(order=7)
    with pytest.raises(BadPayload):
        ship.job(7, 8)  # type: ignore[call-arg]
    with pytest.raises(BadPayload):
        ship.job()  # type: ignore[call-arg]


def test_called_directly_the_caller_gives_the_session() -> None:
    emq = EMQ("postgresql://nowhere/x", bell=False)

    def ship(session: object, order: int) -> tuple[object, int]:
        return session, order

    task: Any = emq.task(ship)
    assert emq.task(transaction=True, name="two")(ship).handler.transaction == "session"
    assert task("a session", 7) == ("a session", 7)


def test_a_coroutine_or_an_unknown_kind_or_no_parameter_is_refused_at_once() -> None:
    emq = EMQ("postgresql://nowhere/x", bell=False)

    async def coroutine(session: Any) -> None: ...
    def without() -> None: ...
    def alone(job: Any) -> None: ...

    with pytest.raises(BadSetting, match="coroutine"):
        emq.task(transaction=True)(coroutine)
    with pytest.raises(BadSetting, match="no argument for it"):
        emq.task(transaction=True, name="without")(without)  # type: ignore[arg-type]
    with pytest.raises(BadSetting, match="and a transaction"):
        emq.task(transaction=True, takes_context=True)(alone)  # type: ignore[arg-type]
    with pytest.raises(BadSetting, match="cursor"):
        emq.task(transaction="cursor")  # type: ignore[call-overload]
    assert emq.tasks == {}


def test_without_a_guard_other_commits_of_the_task_stand(
    bench: Bench, work: Callable[..., None]
) -> None:
    def ship(job: Job) -> None:
        with job.transaction() as session:
            write(session)
        with Session(bench.engine) as session:
            write(session, 2)
            session.commit()

    work(ship, takes_context=True, guard=False)
    assert bench.rows("select n from effect order by n") == [(1,), (2,)]
    assert bench.rows(ENDS) == [("completed",)]
