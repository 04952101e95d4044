"""Whichever way an application commits, and whatever listens to it."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, scoped_session
from sqlalchemy.orm import sessionmaker as make_sessions

from emq_sql.effects.current import unguarded
from emq_sql.errors import LeaseLost
from emq_sql.job import Lease
from tests.effects.conftest import WRITE, Pool, Running, sqlalchemy_url
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger


class Base(DeclarativeBase):
    pass


class Effect(Base):
    __tablename__ = "effect"
    n: Mapped[int] = mapped_column(primary_key=True)


def session_begin(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.execute(WRITE, {"n": 1})


def sessions_begin(engine: Engine) -> None:
    with make_sessions(engine).begin() as session:
        session.execute(WRITE, {"n": 1})


def flush_at_commit(engine: Engine) -> None:
    with Session(engine) as session:
        session.add(Effect(n=1))
        session.commit()


def scoped(engine: Engine) -> None:
    sessions = scoped_session(make_sessions(engine))
    try:
        sessions.execute(WRITE, {"n": 1})
        sessions.commit()
    finally:
        sessions.remove()


def engine_begin(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(WRITE, {"n": 1})


def connection_begin(engine: Engine) -> None:
    with engine.connect() as connection, connection.begin():
        connection.execute(WRITE, {"n": 1})


def as_you_go(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.execute(WRITE, {"n": 1})
        connection.commit()


def driver_sql(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("insert into effect values (1)")


def raw_cursor_in_a_session(engine: Engine) -> None:
    with Session(engine) as session:
        cursor = session.connection().connection.cursor()
        cursor.execute("insert into effect values (1)")
        session.commit()


def options_copy(engine: Engine) -> None:
    engine_begin(engine.execution_options(logging_token="copy"))


def serializable_copy(engine: Engine) -> None:
    engine_begin(engine.execution_options(isolation_level="SERIALIZABLE"))


def detached(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.detach()
        connection.execute(WRITE, {"n": 1})
        connection.commit()


def session_on_a_connection(engine: Engine) -> None:
    with engine.connect() as connection, connection.begin() as outer:
        with Session(connection, join_transaction_mode="create_savepoint") as session:
            session.execute(WRITE, {"n": 1})
            session.commit()
        outer.commit()


def after_anothers_commit(engine: Engine) -> None:
    """In the hook of a session that has only read, and passes."""
    with Session(engine) as reader:
        event.listen(reader, "after_commit", lambda _: detached(engine.execution_options()))
        reader.execute(text("select 1"))
        reader.get_bind()
        reader.connection().detach()
        reader.commit()


WAYS: tuple[Callable[[Engine], None], ...] = (
    session_begin, sessions_begin, flush_at_commit, scoped, engine_begin, connection_begin,
    as_you_go, driver_sql, raw_cursor_in_a_session, options_copy, serializable_copy, detached,
    session_on_a_connection, after_anothers_commit,
)  # fmt: skip


def test_each_way_to_commit_is_guarded(run: Running, engine: Engine) -> None:
    for commit in WAYS:
        commit(engine)
        assert run.written() == [1], commit.__name__
        run.ledger.run("truncate effect")
    run.lose()
    for n, commit in enumerate(WAYS, 1):
        with pytest.raises(LeaseLost):
            commit(engine)
        with unguarded(), engine.begin() as next_user:
            found = next_user.scalar(text("select count(*) from effect"))
            assert found == 0, commit.__name__
        assert run.written() == [], commit.__name__
        assert run.refused == ["guard"] * n


@pytest.mark.parametrize("driver", ["psycopg_async", "asyncpg"])
def test_asynchronous_engines_sessions_and_connections_are_guarded(
    run: Running, make_pool: Callable[..., Pool], driver: str
) -> None:
    pool = make_pool(driver)
    engine = pool.engine
    assert isinstance(engine, AsyncEngine)

    async def by_session() -> None:
        async with AsyncSession(engine) as session:
            session.add(Effect(n=1))
            await session.commit()

    async def by_engine() -> None:
        async with engine.begin() as connection:
            await connection.execute(WRITE, {"n": 2})

    async def as_you_go() -> None:
        async with engine.connect() as connection:
            await connection.execute(WRITE, {"n": 3})
            await connection.commit()

    async def all_refused() -> int:
        for way in (by_session, by_engine, as_you_go):
            with pytest.raises(LeaseLost):
                await way()
        async with engine.connect() as connection:
            return int((await connection.execute(text("select count(*) from effect"))).scalar_one())

    async def all_accepted() -> None:
        for way in (by_session, by_engine, as_you_go):
            await way()

    in_loop(pool, all_accepted())
    assert run.written() == [1, 2, 3]
    run.ledger.run("truncate effect")
    run.lose()
    assert in_loop(pool, all_refused()) == 0
    assert run.written() == []
    assert run.refused == ["guard"] * 3


def test_of_a_session_with_two_engines_the_ledgers_part_is_guarded(
    run: Running, engine: Engine, empty_db: Database
) -> None:
    elsewhere = create_engine(sqlalchemy_url(empty_db.dsn))
    there = empty_db.connect()
    there.execute("create table effect (n int)")

    def both() -> None:
        with Session() as session:
            session.execute(WRITE, {"n": 1}, bind_arguments={"bind": engine})
            session.execute(WRITE, {"n": 1}, bind_arguments={"bind": elsewhere})
            session.commit()

    both()
    assert run.written() == [1]
    run.lose()
    with pytest.raises(LeaseLost):
        both()
    assert run.written() == [1]
    assert run.refused == ["guard"]
    elsewhere.dispose()


def test_what_a_listener_of_the_commit_writes_is_guarded_too(run: Running, engine: Engine) -> None:
    """It comes after the guard, which had found nothing written."""

    def audit(connection: Connection) -> None:
        connection.execute(WRITE, {"n": 2})

    event.listen(engine, "commit", audit)
    for prepare in ("select 1", ""):
        with engine.begin() as connection:
            if prepare:
                connection.execute(text(prepare))
    assert run.written() == [2, 2]
    run.lose()
    for prepare in ("select 1", ""):
        with pytest.raises(LeaseLost), engine.begin() as connection:
            if prepare:
                connection.execute(text(prepare))
    assert run.written() == [2, 2]


def test_a_listener_of_the_application_that_raises_at_commit_does_no_harm(
    run: Running, engine: Engine
) -> None:
    def objects(connection: Connection) -> None:
        raise ValueError("no")

    event.listen(engine, "commit", objects)
    with pytest.raises(ValueError, match="no"):
        engine_begin(engine)
    event.remove(engine, "commit", objects)
    engine_begin(engine)
    assert run.written() == [1]


@pytest.mark.parametrize("driver", ["psycopg_async", "asyncpg"])
def test_a_task_that_is_cancelled_while_it_asks_leaves_nothing_behind(
    run: Running, make_pool: Callable[..., Pool], other: Ledger, driver: str
) -> None:
    pool = make_pool(driver)
    engine = pool.engine
    assert isinstance(engine, AsyncEngine)
    other.complete(run.held)  # in a transaction that stays open: the guard waits for it
    waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and pid = %s"

    async def cancelled() -> int:
        async with AsyncSession(engine) as session:
            await session.execute(WRITE, {"n": 1})
            pid = (await session.execute(text("select pg_backend_pid()"))).scalar_one()
            commit = asyncio.create_task(session.commit())
            while not run.ledger.one(waits, pid):
                await asyncio.sleep(0.005)
            commit.cancel()
            with pytest.raises(asyncio.CancelledError):
                await commit
        async with AsyncSession(engine) as session:
            found = await session.execute(text("select count(*) from effect"))
            return int(found.scalar_one())

    assert in_loop(pool, cancelled()) == 0
    other.conn.rollback()
    assert run.written() == []
    assert run.refused == []


def test_a_block_can_be_left_unguarded(run: Running, engine: Engine) -> None:
    run.lose()
    with unguarded():
        engine_begin(engine)
    with pytest.raises(LeaseLost):
        engine_begin(engine)
    assert run.written() == [1]


def test_a_run_whose_task_says_guard_false_is_not_guarded(run: Running, engine: Engine) -> None:
    run.begin(guard=False)
    run.lose()
    engine_begin(engine)
    assert run.written() == [1]


def test_a_connection_made_before_the_first_job_is_guarded(run: Running, engine: Engine) -> None:
    lease: Lease = run.lease
    with unguarded(), engine.connect() as connection:
        connection.execute(WRITE, {"n": 1})
        run.effects.begin(lease, run.refused.append, guard=True)
        run.lose()
        with pytest.raises(LeaseLost):
            connection.commit()
    assert run.written() == []


def in_loop(pool: Pool, work: Any) -> Any:
    return pool.runner.run(work, context=contextvars.copy_context())
