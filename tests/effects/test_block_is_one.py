"""A job.transaction block is one transaction: when that is gone, nothing ends the run instead."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from emq_sql.errors import CannotGuard, UnsupportedHandle
from emq_sql.job import End
from emq_sql.protocol import steps
from emq_sql.worker.context import Job
from tests.effects.conftest import WRITE, Running, sqlalchemy_url
from tests.effects.test_transaction import AS_ONE, EFFECTS, ENDS, HANDLER_FAILED, KINDS, write
from tests.effects.test_transaction_async import engine_of
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger
from tests.worker.conftest import Bench

Runs = Callable[..., None]


@pytest.fixture
def runs(bench: Bench) -> Runs:
    """Runs one job of this handler, with these arguments."""
    bench.reader.execute("create table effect (n int)")

    def run_one(handler: Callable[..., Any], *args: Any, **given: Any) -> None:
        given.setdefault("takes_context", True)
        bench.enqueue(bench.task(handler, **given), *args)
        bench.burst()

    return run_one


class Base(DeclarativeBase): ...


class Effect(Base):
    __tablename__ = "effect"
    n: Mapped[int] = mapped_column(primary_key=True)


class Other(Base):
    __tablename__ = "other"
    n: Mapped[int] = mapped_column(primary_key=True)


def swallows_an_error(session: Session) -> None:
    with suppress(IntegrityError):
        session.execute(text("insert into effect values (null), (2)"))
    session.rollback()


def dies_and_is_swallowed(session: Session) -> None:
    pid = session.scalar(text("select pg_backend_pid()"))
    with create_engine(session.get_bind().engine.url).connect() as killer:
        killer.execute(text("select pg_terminate_backend(:pid, 10000)"), {"pid": pid})
    with suppress(DBAPIError):
        session.execute(text("select 1"))
    session.rollback()


ENDED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "session.rollback": ("session", lambda session: session.rollback()),
    "session.close": ("session", lambda session: session.close()),
    "session.invalidate": ("session", lambda session: session.invalidate()),
    "its connection's rollback": ("session", lambda s: s.connection().rollback()),
    "its driver's rollback": ("session", lambda s: s.connection().connection.rollback()),
    "an error": ("session", swallows_an_error),
    "a lost connection": ("session", dies_and_is_swallowed),
    "SQL": ("session", lambda session: session.execute(text("rollback"))),
    "a chain": ("session", lambda session: session.execute(text("rollback and chain"))),
    "connection.rollback": ("connection", lambda connection: connection.rollback()),
    "SQL of a connection": ("connection", lambda c: c.exec_driver_sql("rollback; begin")),
    "SQL of psycopg": ("psycopg", lambda driver: driver.execute("rollback")),
    "a chain of psycopg": ("psycopg", lambda driver: driver.execute("rollback and chain")),
}


@pytest.mark.parametrize("again", [False, True], ids=["is left so", "goes on"])
@pytest.mark.parametrize("way", ENDED)
def test_what_was_rolled_back_within_it_ends_no_run(
    bench: Bench,
    runs: Runs,
    way: str,
    again: bool,
) -> None:
    kind, ends = ENDED[way]
    raised: list[BaseException] = []
    bench.reader.execute("alter table effect alter n set not null")

    def handler(job: Job) -> None:
        try:
            with job.transaction(kind=kind) as handle:  # type: ignore[call-overload]
                write(handle)
                ends(handle)
                if again:
                    write(handle, 2)
        except BaseException as error:
            raised.append(error)
            raise

    runs(handler, backoff=3600.0)
    assert bench.rows(EFFECTS) == [(0,)]
    assert bench.rows(ENDS) == [("failed",)]
    assert [type(error) for error in raised] == [CannotGuard]


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_committed_within_it_by_sql_does_not_end_the_run(
    bench: Bench,
    runs: Runs,
    kind: Any,
) -> None:
    def handler(job: Job) -> None:
        with job.transaction(kind=kind) as handle:
            write(handle)
            handle.execute("commit" if kind == "psycopg" else text("commit"))
            write(handle, 2)

    runs(handler, backoff=3600.0)
    assert bench.rows("select n from effect") == [(1,)]
    assert bench.rows(ENDS) == [("failed",)]


def test_of_a_whole_task_too(bench: Bench, runs: Runs) -> None:
    def handler(session: Session) -> None:
        write(session)
        session.rollback()

    runs(handler, backoff=3600.0, transaction=True, takes_context=False)
    assert bench.rows(EFFECTS) == [(0,)]
    assert bench.rows(ENDS) == [("failed",)]


@pytest.mark.parametrize("driver", ["psycopg_async", "asyncpg"])
@pytest.mark.parametrize("way", ["rollback", "SQL"])
def test_in_coroutines_too(
    bench: Bench,
    runs: Runs,
    driver: str,
    way: str,
) -> None:
    async def handler(job: Job) -> None:
        engine = engine_of(driver, bench.db.dsn)
        try:
            async with job.atransaction(engine) as session:
                await session.execute(WRITE, {"n": 1})
                await (session.rollback() if way == "rollback" else session.execute(text(way_of)))
                await session.execute(WRITE, {"n": 2})
        finally:
            await engine.dispose()

    way_of = "rollback and chain"
    runs(handler, backoff=3600.0)
    assert bench.rows(EFFECTS) == [(0,)]
    assert bench.rows(ENDS) == [("failed",)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_savepoints_and_settings_do_within_it_is_theirs(
    bench: Bench,
    runs: Runs,
    kind: Any,
) -> None:
    def handler(job: Job) -> None:
        with job.transaction(kind=kind) as handle:
            said = "set transaction isolation level serializable"
            handle.execute(said if kind == "psycopg" else text(said))
            nested = handle.transaction if kind == "psycopg" else handle.begin_nested
            with suppress(ValueError), nested():
                write(handle, 1)
                raise ValueError(HANDLER_FAILED)
            with nested():
                write(handle, 2)

    runs(handler)
    assert bench.rows("select n from effect") == [(2,)]
    assert bench.rows(ENDS) == [("completed",)]


def test_a_block_of_nothing_ends_the_run(bench: Bench, runs: Runs) -> None:
    def handler(job: Job, kind: Any) -> None:
        with job.transaction(kind=kind):
            pass

    for kind in KINDS:
        runs(handler, kind)
    assert bench.rows(ENDS) == [("completed",)] * len(KINDS)


def test_nobody_commits_in_it_after_a_rollback(run: Running, home: Engine) -> None:
    with pytest.raises(CannotGuard), run.effects.transaction(home, "session") as session:
        session.rollback()
        with suppress(CannotGuard):
            session.execute(WRITE, {"n": 1})
        with suppress(CannotGuard):
            session.connection().commit()
        raise CannotGuard(HANDLER_FAILED)
    assert run.written() == []


@pytest.mark.parametrize("swallowed", [False, True], ids=["raised", "swallowed"])
def test_its_session_has_one_connection(
    bench: Bench,
    runs: Runs,
    swallowed: bool,
) -> None:
    bench.reader.execute("create table other (n int)")
    url = sqlalchemy_url(bench.db.dsn)
    one, two = create_engine(url), create_engine(url)
    make = sessionmaker(one, binds={Other: two})

    def handler(job: Job) -> None:
        with job.transaction(make) as session:
            session.add(Effect(n=1))
            session.flush()
            session.add(Other(n=1))
            with suppress(*[CannotGuard] * swallowed):
                session.flush()
            session.expunge_all()

    runs(handler, backoff=3600.0)
    one.dispose()
    two.dispose()
    assert bench.rows("select (select count(*) from effect), (select count(*) from other)") == [
        (0, 0)
    ]
    assert bench.rows(ENDS) == [("failed",)]


@pytest.mark.parametrize("mode", ["conditional_savepoint", "create_savepoint", "control_fully"])
def test_a_session_that_joins_a_transaction_is_no_source(
    run: Running, engine: Engine, mode: Any
) -> None:
    with engine.connect() as connection, connection.begin():
        make = sessionmaker(connection, join_transaction_mode=mode)
        with pytest.raises(UnsupportedHandle, match="begun outside"):
            run.effects.transaction(make, "session").__enter__()
    with engine.connect() as connection:  # without one it is
        make = sessionmaker(connection)
        with run.effects.transaction(make, "session") as session:
            session.execute(WRITE, {"n": 1})
    assert run.written() == [1]


def test_nor_is_one_of_a_coroutine(run: Running, db: Database) -> None:
    async def scenario() -> None:
        engine = create_async_engine(sqlalchemy_url(db.dsn, "psycopg_async"))
        async with engine.connect() as connection, connection.begin():
            with pytest.raises(UnsupportedHandle, match="begun outside"):
                async with run.effects.atransaction(async_sessionmaker(connection)):
                    pass
        await engine.dispose()

    with asyncio.Runner() as runner:
        runner.run(scenario(), context=contextvars.copy_context())


@pytest.fixture
def elsewhere(empty_db: Database) -> Iterator[Engine]:
    """Another database, with a ledger of its own."""
    with empty_db.connect() as connection:
        steps.upgrade(connection, schema="emq")
    Ledger(empty_db.connect()).run("create table effect (n int)")
    engine = create_engine(sqlalchemy_url(empty_db.dsn))
    yield engine
    engine.dispose()


def test_another_ledger_is_not_asked_about_the_job(
    bench: Bench,
    runs: Runs,
    elsewhere: Engine,
    empty_db: Database,
) -> None:
    refused: list[BaseException] = []

    def handler(job: Job) -> None:
        for kind in KINDS:
            with pytest.raises(UnsupportedHandle, match="another database") as caught:  # noqa: SIM117
                with job.transaction(elsewhere, kind=kind) as handle:  # type: ignore[call-overload]
                    write(handle)
            refused.append(caught.value)
        handles = Session(elsewhere), psycopg.connect(empty_db.dsn)
        for ask, handle in product((job.complete, job.guard), handles):
            with pytest.raises(UnsupportedHandle, match="another database") as caught:
                ask(handle)
            refused.append(caught.value)
        for handle in handles:
            handle.close()
        with job.transaction() as session:
            write(session)

    runs(handler)
    assert len(refused) == len(KINDS) + 4
    assert bench.rows(AS_ONE) == [(True,)]
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]


def test_another_ledger_is_not_asked_in_a_coroutine_either(
    run: Running, empty_db: Database, elsewhere: Engine
) -> None:
    async def scenario() -> None:
        engine = create_async_engine(sqlalchemy_url(empty_db.dsn, "psycopg_async"))
        async with AsyncSession(engine) as session:
            with pytest.raises(UnsupportedHandle, match="another database"):
                await run.effects.asettle(session, run.lease, End("complete"))
        await engine.dispose()

    with asyncio.Runner() as runner:
        runner.run(scenario(), context=contextvars.copy_context())
