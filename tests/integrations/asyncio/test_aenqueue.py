"""aenqueue joins a coroutine's transaction as enqueue joins a function's."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_sessionmaker
from sqlalchemy.orm import Session

from emq_sql import EMQ, Task, job_id
from emq_sql.errors import BadPayload, PayloadTooLarge, Refused, Retryable, UnsupportedHandle
from tests.app.conftest import Reader
from tests.integrations.asyncio.conftest import Handles, async_engine, opened, run
from tests.plugins.databases import Database

Send = Task[[int], None]


async def write(handle: Any, query: str) -> Any:
    """A statement of the caller's own."""
    return await handle.execute(query.encode() if _is_psycopg(handle) else text(query))


def _is_psycopg(handle: Any) -> bool:
    return isinstance(handle, psycopg.AsyncConnection)


def test_a_job_is_there_when_the_coroutines_transaction_commits_and_not_before(
    handles: Handles, send: Send, emq: EMQ, reader: Reader
) -> None:
    async def scenario() -> None:
        async with handles() as handle:
            assert (await send.using(session=handle).aenqueue(n=1)).status == "enqueued"
            rows = [{"n": n} for n in (2, 3)]
            answers = await send.using(session=handle).aenqueue_many(rows)
            assert [answer.status for answer in answers] == ["enqueued"] * 2
            jobs = [send.using(queue=f"q{n}").job(n=n) for n in (4, 5)]
            assert len(await emq.aenqueue_many(jobs, session=handle)) == 2
            assert reader.numbers() == []
            await handle.commit()

    run(scenario)
    assert reader.numbers() == [1, 2, 3, 4, 5]


def test_a_rollback_takes_the_jobs_and_the_callers_rows_with_it(
    handles: Handles, send: Send, emq: EMQ, reader: Reader
) -> None:
    async def scenario() -> None:
        async with handles() as handle:
            await write(handle, "create table orders (n int)")
            await send.using(session=handle).aenqueue(n=1)
            await send.using(session=handle).aenqueue_many([{"n": 2}, {"n": 3}])
            await handle.rollback()
            await send.using(session=handle).aenqueue(n=4)
            await handle.commit()

    run(scenario)
    assert reader.numbers() == [4]
    assert reader.rows("select to_regclass('orders') as there") == [{"there": None}]


def test_in_autocommit_many_jobs_are_one_transaction_of_their_own(
    handles: Handles, send: Send, emq: EMQ, reader: Reader
) -> None:
    async def scenario() -> None:
        async with handles(autocommit=True) as handle:
            await send.using(session=handle).aenqueue(n=1)
            assert reader.numbers() == [1]
            jobs = [send.using(queue=f"q{n}").job(n=n) for n in (2, 3)]
            await emq.aenqueue_many(jobs, session=handle)
            assert reader.numbers() == [1, 2, 3]

    run(scenario)
    assert len(reader.rows("select distinct xmin from emq.job where queue like 'q%%'")) == 1


def test_without_a_session_a_job_is_committed_when_aenqueue_returns(
    send: Send, emq: EMQ, reader: Reader
) -> None:
    async def scenario() -> None:
        await send.aenqueue(n=1)
        assert reader.numbers() == [1]
        await send.aenqueue_many([{"n": 2}])
        await emq.aenqueue_many([send.job(n=3)])
        assert reader.numbers() == [1, 2, 3]

    run(scenario)


@pytest.mark.parametrize("kind", ["AsyncSession", "AsyncConnection", "psycopg", None])
def test_other_tasks_of_the_loop_run_while_an_enqueue_waits_for_a_lock(
    kind: str | None, db: Database, send: Send, reader: Reader
) -> None:
    taken = job_id("taken", datetime.now(UTC))
    holder = db.connect(autocommit=False)
    holder.execute("select emq.enqueue('default', 'send', '{}', %s)", [taken])

    async def let_go_when_it_waits() -> None:
        # Reached only if the loop goes on; each look is a question to the database.
        query = "select from pg_stat_activity where datname = current_database()" \
            " and wait_event_type = 'Lock'"  # fmt: skip
        while not reader.rows(query):
            await asyncio.sleep(0)
        holder.rollback()

    async def enqueue() -> str:
        if kind is None:
            return (await send.using(job_id=taken).aenqueue(n=1)).status
        async with opened(kind, db.dsn) as handle:
            answer = await send.using(session=handle, job_id=taken).aenqueue(n=1)
            await handle.commit()
            return answer.status

    async def scenario() -> list[Any]:
        return await asyncio.gather(enqueue(), let_go_when_it_waits())

    assert run(scenario)[0] == "enqueued"
    assert reader.numbers() == [1]


def test_a_task_cancelled_in_an_enqueue_leaves_a_failed_transaction_and_no_job(
    handles: Handles, db: Database, send: Send, reader: Reader
) -> None:
    taken = job_id("taken", datetime.now(UTC))
    holder = db.connect(autocommit=False)
    holder.execute("select emq.enqueue('default', 'send', '{}', %s)", [taken])
    waits = "select from pg_stat_activity where datname = current_database()" \
        " and wait_event_type = 'Lock'"  # fmt: skip

    async def scenario() -> None:
        async with handles() as handle:
            await send.using(session=handle).aenqueue(n=1)
            doomed = asyncio.ensure_future(
                send.using(session=handle, job_id=taken).aenqueue(n=2)
            )  # fmt: skip
            while not reader.rows(waits):
                await asyncio.sleep(0)
            doomed.cancel()
            with pytest.raises(asyncio.CancelledError):
                await doomed
            with pytest.raises(Refused):
                await send.using(session=handle).aenqueue(n=3)
            await handle.rollback()
            await send.using(session=handle).aenqueue(n=4)
            await handle.commit()

    run(scenario)
    holder.rollback()
    assert reader.numbers() == [4]


def test_bad_input_is_refused_by_name_and_the_transaction_goes_on(
    handles: Handles, send: Send, reader: Reader
) -> None:
    async def scenario() -> None:
        async with handles() as handle:
            with pytest.raises(BadPayload):
                await send.using(session=handle).aenqueue(n=float("nan"))  # type: ignore[arg-type]
            with pytest.raises(PayloadTooLarge):
                await send.using(session=handle).aenqueue(n="x" * 10**7)  # type: ignore[arg-type]
            await send.using(session=handle).aenqueue(n=1)
            await handle.commit()

    run(scenario)
    assert reader.numbers() == [1]


def test_a_backend_that_ends_in_the_transaction_is_a_retryable_error_and_no_job(
    handles: Handles, send: Send, reader: Reader
) -> None:
    async def scenario() -> None:
        async with handles() as handle:
            await send.using(session=handle).aenqueue(n=1)
            (row,) = reader.rows(
                "select pid from pg_stat_activity"
                " where datname = current_database() and state like 'idle in%%'"
            )
            reader.end_session(row["pid"])
            with pytest.raises(Retryable):
                await send.using(session=handle).aenqueue(n=2)
            await (handle.close() if _is_psycopg(handle) else handle.invalidate())

    run(scenario)
    assert reader.numbers() == []


def test_the_callers_own_rows_stay_as_it_has_set_them(db: Database, send: Send) -> None:
    async def scenario() -> None:
        connect = psycopg.AsyncConnection.connect
        async with await connect(db.dsn, row_factory=dict_row) as conn, conn.transaction():
            await send.using(session=conn).aenqueue(n=1)
            async with conn.transaction():
                await send.using(session=conn).aenqueue(n=2)
            row = await (await conn.execute("select count(*) as n from emq.job")).fetchone()
            assert row == {"n": 2}

    run(scenario)


def test_a_scoped_session_and_code_in_run_sync_join_the_transaction(
    db: Database, send: Send, reader: Reader
) -> None:
    async def scenario() -> None:
        engine = async_engine(db.dsn)
        scoped = async_scoped_session(async_sessionmaker(engine), asyncio.current_task)
        await send.using(session=scoped).aenqueue(n=1)
        await scoped().run_sync(lambda plain: send.using(session=plain).enqueue(n=2))
        assert reader.numbers() == []
        await scoped.commit()
        await scoped.remove()
        await engine.dispose()

    run(scenario)
    assert reader.numbers() == [1, 2]


def test_what_is_not_asynchronous_or_not_psycopg_is_refused_with_the_remedy(
    db: Database, send: Send, emq: EMQ, reader: Reader
) -> None:
    async def scenario() -> None:
        with Session(emq.engine) as session, pytest.raises(UnsupportedHandle, match="enqueue"):
            await send.using(session=session).aenqueue(n=1)
        with pytest.raises(UnsupportedHandle):
            await send.using(session=emq).aenqueue(n=1)
        engine = async_engine(db.dsn)
        with pytest.raises(UnsupportedHandle, match="not been started"):
            await send.using(session=engine.connect()).aenqueue(n=1)
        async with AsyncSession(engine) as session:
            with pytest.raises(UnsupportedHandle):
                send.using(session=session).enqueue(n=1)
        async with opened("psycopg", db.dsn) as conn:
            with pytest.raises(UnsupportedHandle):
                send.using(session=conn).enqueue(n=1)
        await engine.dispose()

    run(scenario)
    assert reader.numbers() == []


def test_another_driver_is_refused_by_name(db: Database, send: Send) -> None:
    async def scenario() -> None:
        engine = async_engine("postgresql://", "asyncpg", connect_args=asyncpg_arguments(db.dsn))
        async with AsyncSession(engine) as session:
            with pytest.raises(UnsupportedHandle, match="asyncpg"):
                await send.using(session=session).aenqueue(n=1)
        await engine.dispose()

    from tests.effects.conftest import asyncpg_arguments

    run(scenario)


def test_without_greenlet_an_asynchronous_session_is_refused_with_what_to_install() -> None:
    code = """
import asyncio, sys
sys.modules["greenlet"] = None
import psycopg
from emq_sql.errors import BadSetting
from emq_sql.protocol.bridging import waited
handle = object.__new__(psycopg.AsyncConnection)
try:
    asyncio.run(waited(handle, print))
except BadSetting as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True,
                         text=True, check=True)  # fmt: skip
    assert "emq-sql[asyncio]" in ran.stdout


def test_tasks_that_share_a_psycopg_connection_take_turns_as_with_its_own_statements(
    db: Database, send: Send, reader: Reader
) -> None:
    async def scenario() -> None:
        async with opened("psycopg", db.dsn) as conn:
            enqueues = (send.using(session=conn).aenqueue(n=n) for n in range(10))
            others = (conn.execute("select pg_sleep(0.001)") for _ in range(10))
            await asyncio.gather(*enqueues, *others)
            await conn.commit()

    run(scenario)
    assert reader.numbers() == list(range(10))
