"""job.atransaction in coroutines, on psycopg and asyncpg: effects and the end of a run are one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)

from emq_sql.errors import Ambiguous, CannotGuard, JobFinished, LeaseLost, UnsupportedHandle
from emq_sql.worker.context import Job
from tests.effects.conftest import asyncpg_arguments, sqlalchemy_url
from tests.effects.test_outcome import SLOW_COMMIT, WAITS
from tests.effects.test_transaction import AS_ONE, EFFECTS, ENDS, take_away
from tests.plugins.proxy import proxied
from tests.worker.conftest import Bench

INSERT = text("insert into effect values (1)")
ON_PURPOSE = "on purpose"
Handler = Callable[[Job, AsyncEngine], Awaitable[Any]]
Work = Callable[..., None]


def engine_of(driver: str, dsn: str) -> AsyncEngine:
    if driver == "asyncpg":
        return create_async_engine(
            "postgresql+asyncpg://", connect_args=asyncpg_arguments(dsn), pool_size=1
        )
    return create_async_engine(sqlalchemy_url(dsn, "psycopg_async"), pool_size=1)


@pytest.fixture(params=["psycopg_async", "asyncpg"])
def work(request: pytest.FixtureRequest, bench: Bench) -> Work:
    """Runs one job of this coroutine, which gets an engine of the driver."""
    bench.reader.execute("create table effect (n int)")

    def works(handler: Handler, dsn: str = bench.db.dsn) -> None:
        async def handles(job: Job) -> Any:
            engine = engine_of(request.param, dsn)
            try:
                return await handler(job, engine)
            finally:
                await engine.dispose()

        bench.enqueue(bench.task(handles, takes_context=True, backoff=3600.0))
        bench.burst()

    return works


def refusals(bench: Bench) -> int:
    ((count,),) = bench.rows("select count(*) from emq.refusal")
    return int(count)


def test_effects_and_completion_are_one_transaction(bench: Bench, work: Work) -> None:
    async def handler(job: Job, engine: AsyncEngine) -> str:
        async with job.atransaction(async_sessionmaker(engine)) as session:
            await session.execute(INSERT)
            assert await job.aonce("a key: €")
            assert not await job.aonce("a key: €", session)
            job.complete(session, {"said": "€ 'quoted' %s $1 \\"})
        with pytest.raises(JobFinished):
            await job.aextend()
        with pytest.raises(JobFinished):
            async with job.atransaction(engine):
                pass
        return "is not the result"

    work(handler)
    assert bench.rows(AS_ONE) == [(True,)]
    assert bench.rows("select result from emq.archive") == [({"said": "€ 'quoted' %s $1 \\"},)]
    assert bench.rows("select key from emq.inbox") == [("a key: €",)]
    assert refusals(bench) == 0


def test_a_block_that_raises_leaves_neither(bench: Bench, work: Work) -> None:
    async def handler(job: Job, engine: AsyncEngine) -> None:
        async with job.atransaction(engine) as session:
            await session.execute(INSERT)
            await job.aonce("a")
            job.complete(session)
            raise ValueError("on purpose")

    work(handler)
    assert bench.rows(EFFECTS) == [(0,)]
    assert bench.rows(ENDS) == [("failed",)]
    assert bench.rows("select count(*) from emq.inbox") == [(0,)]


@pytest.mark.parametrize("verb", ["retry", "snooze"])
def test_another_end_is_committed_with_the_effects(bench: Bench, work: Work, verb: str) -> None:
    async def handler(job: Job, engine: AsyncEngine) -> None:
        async with job.atransaction(engine) as session:
            await session.execute(INSERT)
            if verb == "retry":
                job.retry(5400.5, "not yet: € 'quoted' %s $1")
            else:
                job.snooze(5400.5)

    work(handler)
    assert bench.rows(AS_ONE) == [(True,)]
    error = "not yet: € 'quoted' %s $1" if verb == "retry" else None
    how = "failed" if verb == "retry" else "snoozed"
    assert bench.rows("select how, error from emq.attempt") == [(how, error)]
    waits = "select failures, run_at - now() > interval '89 min' from emq.scheduled"
    assert bench.rows(waits) == [(int(verb == "retry"), True)]
    assert refusals(bench) == 0


def test_who_has_lost_the_job_commits_nothing_and_the_pool_is_clean(
    bench: Bench, work: Work
) -> None:
    async def handler(job: Job, engine: AsyncEngine) -> None:
        if job.attempts > 1:
            return
        with pytest.raises(LeaseLost) as caught:
            async with job.atransaction(engine) as session:
                await session.execute(INSERT)
                await asyncio.to_thread(take_away, bench, job)
        assert type(caught.value) is LeaseLost
        async with engine.connect() as connection:
            clean = text("select pg_current_xact_id_if_assigned() is null")
            assert await connection.scalar(clean)
        raise caught.value

    work(handler)
    bench.until("select count(*) = 1 from emq.archive where attempts = 2")
    assert bench.rows(EFFECTS) == [(0,)]
    bench.until("select count(*) = 1 from emq.refusal")


def test_nobody_commits_in_the_block(bench: Bench, work: Work) -> None:
    async def handler(job: Job, engine: AsyncEngine) -> None:
        async with job.atransaction(engine) as session:
            async with session.begin_nested():
                await session.execute(INSERT)
            with pytest.raises(CannotGuard):
                await session.commit()
            assert bench.rows(EFFECTS) == [(0,)]

    work(handler)
    assert bench.rows(EFFECTS) == [(1,)]
    assert bench.rows(ENDS) == [("completed",)]


def test_what_is_no_source_is_refused(bench: Bench, work: Work) -> None:
    async def handler(job: Job, engine: AsyncEngine) -> None:
        autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
        for source in (bench.engine, None, autocommit):
            with pytest.raises(UnsupportedHandle):
                async with job.atransaction(source):  # type: ignore[arg-type]
                    pass
        with pytest.raises(UnsupportedHandle):
            await job.aonce("a", object())

    work(handler)
    assert bench.rows(ENDS) == [("completed",)]


def test_a_commit_whose_answer_was_lost_is_ambiguous_and_its_outcome_is_told(
    bench: Bench, work: Work
) -> None:
    with proxied(bench.db.dsn) as proxy:

        async def handler(job: Job, engine: AsyncEngine) -> None:
            with pytest.raises(Ambiguous, match="outcome"):
                async with job.atransaction(engine) as session:
                    await session.execute(INSERT)
                    proxy.lose_reply_to(b"COMMIT")
            assert await job.aoutcome() == "completed"
            raise ValueError("on purpose")

        work(handler, dsn=proxy.dsn)
    assert bench.rows(AS_ONE) == [(True,)]
    assert bench.rows(ENDS) == [("completed",)]


def test_cancelled_in_its_commit_a_coroutine_does_not_know_and_the_outcome_is_told(
    bench: Bench, work: Work
) -> None:
    bench.reader.execute(SLOW_COMMIT)
    bench.reader.execute("select pg_advisory_lock(42)")
    told: list[Any] = []

    async def handler(job: Job, engine: AsyncEngine) -> None:
        async def block() -> None:
            async with job.atransaction(engine) as session:
                await session.execute(INSERT)

        task = asyncio.create_task(block())
        await asyncio.to_thread(bench.until, WAITS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        bench.reader.execute("select pg_advisory_unlock(42)")
        told.append(await job.aoutcome())
        raise ValueError("on purpose")

    work(handler)
    committed = told == ["completed"]
    assert committed or told == ["yours"]
    assert bench.rows(EFFECTS) == [(int(committed),)]
    assert bench.rows(ENDS) == [("completed" if committed else "failed",)]
    assert refusals(bench) == 0


def test_a_task_that_is_cancelled_in_its_rollback_ends_it_first_and_then_is_cancelled(
    bench: Bench, work: Work
) -> None:
    began, goes_on = asyncio.Event(), asyncio.Event()
    done: list[str] = []

    class Slow(AsyncSession):
        async def rollback(self) -> None:
            began.set()
            await goes_on.wait()
            await super().rollback()
            done.append("rolled back")

        async def close(self) -> None:
            await super().close()
            done.append("closed")

    async def block(job: Job, engine: AsyncEngine) -> None:
        async with job.atransaction(async_sessionmaker(engine, class_=Slow)) as session:
            await session.execute(INSERT)
            raise ValueError(ON_PURPOSE)

    async def handler(job: Job, engine: AsyncEngine) -> None:
        task = asyncio.create_task(block(job, engine))
        await began.wait()
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        for _ in range(3):  # longer than a close would take
            async with engine.connect() as another:
                await another.execute(text("select 1"))
        assert done == []
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with job.atransaction(engine) as session:  # there is room for one connection
            await session.execute(INSERT)

    work(handler)
    assert done == ["rolled back", "closed"]
    assert bench.rows(AS_ONE) == [(True,)]
    assert bench.rows(EFFECTS) == [(1,)]
