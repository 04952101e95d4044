"""A transaction is the run's that used it first: what a run leaves open nobody commits for it."""

from __future__ import annotations

import contextvars
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.pool import StaticPool

from emq_sql.effects.current import here, unguarded
from emq_sql.errors import CannotGuard, LeaseLost
from tests.effects.conftest import DRIVERS, WRITE, Pool, Running, sqlalchemy_url
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

THREADED = ("psycopg", "psycopg2")
READ = text("select count(*) from effect")
each_driver = pytest.mark.parametrize("pool", DRIVERS, indirect=True)
each_threaded = pytest.mark.parametrize("driver", THREADED)


class Base(DeclarativeBase): ...


class Effect(Base):
    __tablename__ = "effect"
    n: Mapped[int] = mapped_column(primary_key=True)


@pytest.fixture
def engine_on(make_pool: Callable[..., Pool]) -> Callable[..., Engine]:
    """An engine of a driver that threads use."""

    def make(driver: str, **given: Any) -> Engine:
        made = make_pool(driver, **given).engine
        assert isinstance(made, Engine)
        return made

    return make


def next_run(run: Running) -> Running:
    """Another job, whose handler runs here from now on."""
    another = Running(run.ledger, run.ledger.start(), run.effects)
    another.begin()
    return another


def lost_and_over(run: Running) -> None:
    run.lose()
    run.effects.end(run.lease)


def write(session: Session | Connection, n: int) -> None:
    session.execute(WRITE, {"n": n})


def adds(session: Session) -> None:
    session.add(Effect(n=1))


def reads_and_adds(session: Session) -> None:
    session.execute(READ)
    session.add(Effect(n=1))


LEAVES: dict[str, Callable[[Session], None]] = {
    "written": lambda session: write(session, 1),
    "to be written": adds,
    "read and to be written": reads_and_adds,
}


@each_threaded
@pytest.mark.parametrize("way", LEAVES)
def test_what_a_run_leaves_in_the_session_of_its_thread_the_next_one_does_not_commit(
    run: Running, engine_on: Callable[..., Engine], driver: str, way: str
) -> None:
    session = Session(engine_on(driver))
    LEAVES[way](session)
    lost_and_over(run)
    next_run(run)
    write(session, 2)
    session.commit()
    session.close()
    assert run.written() == [2]


@each_threaded
def test_nor_what_it_leaves_in_a_connection_of_its_module(
    run: Running, engine_on: Callable[..., Engine], driver: str
) -> None:
    connection = engine_on(driver).connect()
    write(connection, 1)
    lost_and_over(run)
    next_run(run)
    write(connection, 2)
    connection.commit()
    connection.close()
    assert run.written() == [2]


@pytest.mark.parametrize("pool", ["psycopg_async", "asyncpg"], indirect=True)
@pytest.mark.parametrize("way", ["to be written", "read and to be written"])
def test_nor_what_it_leaves_unwritten_in_a_session_of_a_loop(
    run: Running, pool: Pool, way: str
) -> None:
    """Whose connection nobody waits for at the end of the run: so that is closed."""
    engine: Any = pool.engine

    async def scenario() -> None:
        session = AsyncSession(engine)
        await session.run_sync(LEAVES[way])
        lost_and_over(run)
        next_run(run)
        await session.execute(WRITE, {"n": 2})
        await session.commit()
        await session.close()

    pool.runner.run(scenario(), context=contextvars.copy_context())
    assert run.written() == [2]


def test_what_is_committed_when_a_run_ends_stays(
    run: Running, engine_on: Callable[..., Engine]
) -> None:
    session = Session(engine_on("psycopg"))
    write(session, 1)
    session.commit()
    run.effects.end(run.lease)
    session.close()
    assert run.written() == [1]


@each_driver
def test_in_a_transaction_in_which_another_run_has_written_no_run_goes_on(
    run: Running, pool: Pool
) -> None:
    def scenario(session: Session) -> None:
        write(session, 1)
        run.lose()
        later = next_run(run)
        with pytest.raises(CannotGuard, match=str(run.held.id)) as caught:
            write(session, 2)
        assert str(later.held.id) in str(caught.value)
        session.rollback()
        write(session, 3)
        session.commit()

    pool.session(scenario)
    assert run.written() == [3]


@each_driver
def test_nor_commits_it(run: Running, pool: Pool) -> None:
    def scenario(session: Session) -> None:
        write(session, 1)
        run.lose()
        next_run(run)
        with pytest.raises(CannotGuard, match=str(run.held.id)):
            session.commit()
        session.rollback()
        write(session, 2)
        session.commit()

    pool.session(scenario)
    assert run.written() == [2]


def test_what_was_begun_before_any_run_is_of_the_first_that_uses_it(
    run: Running, pool: Pool
) -> None:
    guarded = here.get()

    def scenario(session: Session) -> None:
        session.execute(READ)
        here.set(guarded)
        write(session, 1)
        run.lose()
        next_run(run)
        with pytest.raises(CannotGuard, match=str(run.held.id)):
            write(session, 2)

    here.set(None)
    pool.session(scenario)
    assert run.written() == []


@each_driver
def test_a_transaction_that_was_only_read_in_is_taken_over(run: Running, pool: Pool) -> None:
    def scenario(session: Session) -> None:
        session.execute(READ)
        run.lose()
        next_run(run)
        write(session, 2)
        session.commit()

    pool.session(scenario)
    assert run.written() == [2]


@pytest.mark.parametrize("lost", [True, False])
def test_a_commit_outside_of_any_run_must_pass_the_guard_of_whose_transaction_it_is(
    run: Running, engine_on: Callable[..., Engine], lost: bool
) -> None:
    session = Session(engine_on("psycopg"))
    write(session, 1)
    if lost:
        run.lose()
    raised: list[BaseException] = []

    def commits() -> None:  # knows nothing of the run
        try:
            session.commit()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=commits)
    thread.start()
    thread.join()
    session.close()
    assert [type(error) for error in raised] == [LeaseLost] * lost
    assert run.written() == [1] * (not lost)
    assert run.refused == ["guard"] * lost


def test_who_opts_out_for_the_commit_has_opted_out(run: Running, pool: Pool) -> None:
    def scenario(session: Session) -> None:
        write(session, 1)
        run.lose()
        with unguarded():
            session.commit()

    pool.session(scenario)
    assert run.written() == [1]


@pytest.fixture
def elsewhere(empty_db: Database) -> Iterator[Engine]:
    """A second database, which has no ledger."""
    Ledger(empty_db.connect()).run("create table effect (n int)")
    engine = create_engine(sqlalchemy_url(empty_db.dsn), pool_reset_on_return="commit")
    yield engine
    engine.dispose()


def test_what_was_written_in_another_database_is_taken_over(
    run: Running, elsewhere: Engine
) -> None:
    with Session(elsewhere) as session:
        write(session, 1)
        next_run(run)
        session.commit()
        assert session.scalar(READ) == 1


@each_threaded
@pytest.mark.parametrize("reset", ["commit", None])
def test_a_pool_that_resets_otherwise_than_by_a_rollback_commits_nothing_of_a_run(
    run: Running, engine_on: Callable[..., Engine], driver: str, reset: str | None
) -> None:
    engine = engine_on(driver, pool_reset_on_return=reset)
    connection: Any = engine.connect()
    write(connection, 1)
    run.lose()
    del connection
    gc.collect()
    next_run(run)
    with engine.connect() as connection:  # it has room for one: it is the same
        connection.execute(WRITE, {"n": 2})
        connection.commit()
    assert run.written() == [2]


def test_in_another_database_such_a_pool_does_as_it_likes(run: Running, elsewhere: Engine) -> None:
    connection: Any = elsewhere.connect()
    write(connection, 1)
    run.lose()
    del connection
    gc.collect()
    with elsewhere.connect() as connection:
        assert connection.scalar(READ) == 1


def test_a_transaction_that_is_open_at_a_checkout_is_not_committed_by_it(
    run: Running, db: Database
) -> None:
    engine = create_engine(sqlalchemy_url(db.dsn), poolclass=StaticPool)
    held = contextvars.Context().run(engine.connect)  # as at import
    write(held, 1)
    run.lose()
    with engine.connect() as connection:  # the same one
        assert connection.scalar(READ) == 1
    held.close()
    engine.dispose()
    assert run.written() == []


def test_what_a_listener_writes_when_a_connection_is_made_is_not_committed_by_its_checkout(
    run: Running, db: Database
) -> None:
    engine = create_engine(sqlalchemy_url(db.dsn))

    @event.listens_for(engine, "connect")
    def connects(driver: Any, _: object) -> None:
        driver.execute("insert into effect values (1)")

    run.lose()
    with engine.connect() as connection:
        connection.rollback()
    engine.dispose()
    assert run.written() == []


@pytest.mark.parametrize("word", ["rollback", "commit", "rollback and chain"])
@each_driver
def test_after_a_transaction_was_ended_by_sql_what_follows_is_guarded_still(
    run: Running, pool: Pool, word: str
) -> None:
    def scenario(session: Session) -> None:
        session.execute(READ)
        session.execute(text(word))
        write(session, 1)
        run.lose()
        with pytest.raises(LeaseLost):
            session.commit()

    pool.session(scenario)
    assert run.written() == []


def test_what_a_run_of_many_sessions_has_left_open_is_rolled_back_too(
    run: Running, engine_on: Callable[..., Engine]
) -> None:
    engine = engine_on("psycopg", pool_size=2)
    with Session(engine) as left:
        write(left, 1)
        for _ in range(250):  # more than a run keeps account of
            with Session(engine) as session:
                session.execute(READ)
        run.effects.end(run.lease)
        assert not left.in_transaction()
        next_run(run)
        left.commit()
    assert run.written() == []
