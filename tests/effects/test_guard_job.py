"""job.guard: the ownership is held to the end of the handler's own transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from emq_sql.errors import JobFinished, LeaseLost, UnsupportedHandle
from emq_sql.worker.context import Job
from tests.effects.conftest import asyncpg_arguments, sqlalchemy_url
from tests.worker.conftest import Bench

Run = Callable[[Callable[[Job], Any]], None]


@pytest.fixture
def run(bench: Bench) -> Run:
    """Runs one job of this handler; what it raises is raised here."""
    bench.reader.execute("create table effect (n int)")

    def runs(handler: Callable[[Job], Any]) -> None:
        raised: list[BaseException] = []

        def watched(job: Job) -> None:
            try:
                handler(job)
            except BaseException as error:
                raised.append(error)
                raise

        bench.enqueue(bench.task(watched, takes_context=True))
        bench.burst()
        if raised:
            raise raised[0]

    return runs


@contextmanager
def session(bench: Bench) -> Iterator[tuple[Any, Any]]:
    with Session(bench.engine) as opened:
        yield opened, opened.connection().connection.driver_connection


@contextmanager
def connection(bench: Bench) -> Iterator[tuple[Any, Any]]:
    with bench.engine.connect() as opened:
        yield opened, opened.connection.driver_connection


@contextmanager
def raw(bench: Bench) -> Iterator[tuple[Any, Any]]:
    with psycopg.connect(bench.db.dsn) as opened:
        yield opened, opened


@contextmanager
def block_in_autocommit(bench: Bench) -> Iterator[tuple[Any, Any]]:
    with psycopg.connect(bench.db.dsn, autocommit=True) as opened:
        opened.execute("begin")
        yield opened, opened


HANDLES = (session, connection, raw, block_in_autocommit)


def cancel(bench: Bench, job: Job) -> str:
    with psycopg.connect(bench.db.dsn, autocommit=True) as operator:
        (answer,) = operator.execute("select emq.cancel(%s)", [job.id]).fetchone() or ("",)
    return str(answer)


@pytest.mark.parametrize("make", HANDLES, ids=lambda made: made.__name__)
def test_nobody_takes_the_job_before_the_transaction_ends_and_a_stale_run_cannot_commit(
    bench: Bench, run: Run, make: Callable[[Bench], Any]
) -> None:
    def handler(job: Job) -> None:
        with make(bench) as (handle, driver):
            job.guard(handle)
            assert driver.info.transaction_status == TransactionStatus.INTRANS
            assert cancel(bench, job) == "busy"
            handle.rollback()
            assert cancel(bench, job) == "done"
            if make is block_in_autocommit:
                driver.execute("begin")
            driver.execute("insert into effect values (1)")
            with pytest.raises(LeaseLost, match="cancelled"):
                job.guard(handle)
            assert driver.info.transaction_status == TransactionStatus.INERROR
            driver.commit()

    run(handler)
    assert bench.rows("select count(*) from effect") == [(0,)]
    bench.until("select count(*) = 1 from emq.refusal where verb = 'guard'")


def test_it_begins_the_transaction_that_it_holds_the_job_in(bench: Bench, run: Run) -> None:
    def handler(job: Job) -> None:
        with bench.engine.connect() as opened:
            job.guard(opened)
            assert opened.in_transaction()
            opened.commit()

    run(handler)


@pytest.mark.parametrize("driver", ["psycopg_async", "asyncpg"])
def test_in_an_asynchronous_session_it_is_called_by_run_sync(bench: Bench, driver: str) -> None:
    bench.reader.execute("create table effect (n int)")
    told: list[str] = []

    async def handler(job: Job) -> None:
        dsn, given = bench.db.dsn, {}
        if driver == "asyncpg":
            dsn, given = "postgresql://", {"connect_args": asyncpg_arguments(dsn)}
        engine = create_async_engine(sqlalchemy_url(dsn, driver), **given)
        async with AsyncSession(engine) as opened:
            with pytest.raises(UnsupportedHandle, match="run_sync"):
                job.guard(opened)
            await opened.run_sync(job.guard)
            told.append(await asyncio.to_thread(cancel, bench, job))
            await opened.rollback()
            told.append(await asyncio.to_thread(cancel, bench, job))
            with pytest.raises(LeaseLost, match="cancelled"):
                await opened.run_sync(job.guard)
        await engine.dispose()
        told.append("end")

    bench.enqueue(bench.task(handler, takes_context=True))
    bench.burst()
    assert told == ["busy", "done", "end"]


def test_it_works_on_psycopg2_too(bench: Bench, run: Run) -> None:
    def handler(job: Job) -> None:
        engine = create_engine(sqlalchemy_url(bench.db.dsn, "psycopg2"))
        with Session(engine) as opened:
            job.guard(opened)
            assert cancel(bench, job) == "busy"
        engine.dispose()

    run(handler)


def test_after_the_settlement_it_says_finished(bench: Bench, run: Run) -> None:
    def handler(job: Job) -> None:
        with Session(bench.engine) as opened:
            job.complete(opened)
            job.guard(opened)  # the same transaction
            opened.commit()
        with Session(bench.engine) as opened, pytest.raises(JobFinished):
            job.guard(opened)

    run(handler)


def test_what_has_no_transaction_is_refused(bench: Bench, run: Run) -> None:
    def handler(job: Job) -> None:
        alone = bench.engine.execution_options(isolation_level="AUTOCOMMIT")
        with (
            psycopg.connect(bench.db.dsn, autocommit=True) as opened,
            alone.connect() as connected,
            Session(alone) as session,
            create_engine("sqlite://").connect() as elsewhere,
        ):
            for handle in (opened, connected, session, elsewhere, bench.engine, None, "emq"):
                with pytest.raises(UnsupportedHandle):
                    job.guard(handle)

    run(handler)


def test_a_task_without_guard_may_guard_by_hand(bench: Bench) -> None:
    bench.reader.execute("create table effect (n int)")
    told: list[type[Exception]] = []

    def handler(job: Job) -> None:
        cancel(bench, job)
        with Session(bench.engine) as opened:
            opened.execute(text("insert into effect values (1)"))
            try:
                job.guard(opened)
            except LeaseLost as error:
                told.append(type(error))

    bench.enqueue(bench.task(handler, takes_context=True, guard=False))
    bench.burst()
    assert told == [LeaseLost]
