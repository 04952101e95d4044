"""An asynchronous enqueue rings after its commit, and commits nothing in a run that is lost."""

from __future__ import annotations

import psycopg
import pytest

from emq_sql import EMQ, Task
from emq_sql.errors import LeaseLost
from tests.app.conftest import Reader
from tests.effects.conftest import Running
from tests.integrations.asyncio.conftest import opened, run
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
