"""An asynchronous enqueue rings after its commit, and commits nothing in a run that is lost."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from emq_sql import EMQ, Task
from emq_sql.effects.effects import DatabaseEffects
from emq_sql.errors import LeaseLost
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.worker import Worker
from tests.app.conftest import Reader
from tests.effects.conftest import Running
from tests.integrations.asyncio.conftest import async_engine, opened, run
from tests.plugins.databases import Database
from tests.plugins.parked import Parked

Send = Task[[int], None]


@pytest.mark.parametrize("kind", ["AsyncSession", "AsyncConnection"])
def test_a_ring_comes_after_the_commit_alone(
    kind: str, db: Database, emq: EMQ, send: Send, parked: Parked
) -> None:
    async def scenario() -> None:
        async with opened(kind, db.dsn) as handle:
            await send.using(session=handle).aenqueue(n=1)
            await handle.rollback()
            await send.using(session=handle).aenqueue_many([{"n": 2}])
            assert emq.flush_rings(20)
            assert parked.heard() == []
            await handle.commit()
            assert parked.hears() == "default"

    run(scenario)


def test_what_is_committed_on_return_is_rung_for(db: Database, send: Send, parked: Parked) -> None:
    async def scenario() -> None:
        await send.aenqueue(n=1)
        assert parked.hears() == "default"
        async with opened("psycopg", db.dsn, autocommit=True) as conn:
            await send.using(session=conn, queue="mail").aenqueue(n=2)
            assert parked.hears() == "mail"

    run(scenario)


@pytest.mark.parametrize("kind", ["AsyncSession", "AsyncConnection"])
def test_in_a_run_that_is_lost_a_transaction_with_an_enqueue_is_not_committed(
    kind: str,
    db: Database,
    lost_run: Running,
    send: Send,
    reader: Reader,
) -> None:
    async def scenario() -> None:
        async with opened(kind, db.dsn) as handle:
            await send.using(session=handle).aenqueue(n=1)
            await handle.commit()
            await send.using(session=handle).aenqueue(n=2)
            lost_run.lose()
            with pytest.raises(LeaseLost):
                await handle.commit()

    run(scenario)
    assert 2 not in numbers(reader)
    assert 1 in numbers(reader)
    assert lost_run.refused == ["guard"]


@pytest.mark.parametrize("kind", ["psycopg", None])
def test_in_a_run_that_is_lost_an_enqueue_that_commits_by_itself_adds_nothing(
    kind: str | None, db: Database, lost_run: Running, send: Send, emq: EMQ,
    reader: Reader,
) -> None:  # fmt: skip
    async def enqueue(n: int) -> None:
        if kind is None:
            await send.aenqueue(n=n)
            await send.aenqueue_many([{"n": n + 100}])
            return
        async with opened(kind, db.dsn, autocommit=True) as conn:
            await emq.aenqueue_many(
                [send.job(n=n), send.using(queue="b").job(n=n + 100)], session=conn
            )
            assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE

    run(lambda: enqueue(1))
    lost_run.lose()
    with pytest.raises(LeaseLost):
        run(lambda: enqueue(2))
    assert numbers(reader) == [1, 101]
    assert lost_run.refused == ["guard"]


def numbers(reader: Reader) -> list[int]:
    """The arguments n of the jobs of `send`."""
    query = "select (payload -> 'n')::int as n from emq.job where task = 'send' order by 1"
    return [row["n"] for row in reader.rows(query)]


def test_a_session_of_an_asynchronous_engine_lends_the_bell_no_connection(
    db: Database, parked: Parked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EMQ_DSN", raising=False)
    emq = EMQ()  # it knows no database: only the session leads there

    @emq.task
    def send(n: int) -> None: ...

    async def scenario() -> list[int]:
        engine = async_engine(db.dsn, pool_size=1)
        pids = []
        for n in range(3):
            async with AsyncSession(engine) as session:
                await send.using(session=session).aenqueue(n=n)
                pids.append(await session.scalar(text("select pg_backend_pid()")))
                await session.commit()
            assert await asyncio.to_thread(emq.flush_rings, 20)
        await engine.dispose()
        return pids

    assert len(set(run(scenario))) == 1
    assert parked.heard() == []


@pytest.mark.parametrize("fails", [False, True], ids=["ends well", "fails"])
def test_what_a_coroutine_adds_in_the_transaction_that_ends_its_run_is_there_with_its_completion(
    fails: bool, db: Database, emq: EMQ, send: Send, reader: Reader
) -> None:
    engines = []

    @emq.task(takes_context=True, max_attempts=1, queue="first")
    async def first(job: Any) -> None:
        engines.append(async_engine(db.dsn))
        async with job.atransaction(engines[-1]) as session:
            await send.using(session=session, queue="next").aenqueue(n=1)
            if fails:
                raise RuntimeError("in the block")

    job = first.enqueue()
    settings = WorkerSettings(("first",), burst=True, poll=timedelta(seconds=0.05))
    Worker(emq.connect, "emq", emq.handlers, settings, DatabaseEffects("emq", emq.engine)).run()
    place = emq.place(job.id)
    assert place is not None
    assert place["place"] == ("dead" if fails else "completed")
    assert numbers(reader) == ([] if fails else [1])
