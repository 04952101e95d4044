"""What cannot be guarded is refused by name, in the ledger's database and in no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Engine
from sqlalchemy.exc import PendingRollbackError
from sqlalchemy.orm import Session

from emq_sql import EMQ
from emq_sql.effects.current import here, unguarded
from emq_sql.errors import CannotGuard
from tests.effects.conftest import DRIVERS, WRITE, Pool, Running, sqlalchemy_url
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger


def write(session: Session) -> None:
    session.execute(WRITE, {"n": 1})


@pytest.fixture(params=DRIVERS)
def autocommit(request: pytest.FixtureRequest, make_pool: Callable[..., Pool]) -> Pool:
    return make_pool(request.param, isolation_level="AUTOCOMMIT")


def test_an_engine_in_autocommit_is_refused_before_its_statement_runs(
    run: Running, autocommit: Pool
) -> None:
    with pytest.raises(CannotGuard, match=r"autocommit.*guard=False.*EMQ204"):
        autocommit.session(write)
    assert run.written() == []
    assert run.refused == []  # the job is not lost


def test_an_engine_in_autocommit_is_nobodys_business_outside_of_handlers(
    run: Running, make_pool: Callable[..., Pool]
) -> None:
    autocommit = make_pool(isolation_level="AUTOCOMMIT")
    with unguarded():
        autocommit.session(write)
    assert run.written() == [1]
    here.set(None)
    autocommit.session(write)
    assert run.written() == [1, 1]


def option_of_the_connection(engine: Engine) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(WRITE, {"n": 1})


def option_of_a_copy(engine: Engine) -> None:
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(WRITE, {"n": 1})


def option_of_the_session(engine: Engine) -> None:
    with Session(engine) as session:
        session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})
        session.execute(WRITE, {"n": 1})


def many_at_once(engine: Engine) -> None:
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(WRITE, [{"n": 1}, {"n": 2}])


def by_the_driver(engine: Engine) -> None:
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.rollback()
        driver.autocommit = True
        connection.execute(WRITE, {"n": 1})


AUTOCOMMIT = (
    option_of_the_connection, option_of_a_copy, option_of_the_session, many_at_once, by_the_driver,
)  # fmt: skip


def test_autocommit_is_refused_however_it_is_set(run: Running, engine: Engine) -> None:
    for commit in AUTOCOMMIT:
        with pytest.raises(CannotGuard):
            commit(engine)
        assert run.written() == [], commit.__name__


@pytest.fixture
def elsewhere(empty_db: Database) -> str:
    Ledger(empty_db.connect()).run("create table effect (n int)")
    return empty_db.dsn


def test_autocommit_in_another_database_is_left_alone(
    run: Running, make_pool: Callable[..., Pool], elsewhere: str
) -> None:
    run.lose()
    pool = make_pool(dsn=elsewhere, isolation_level="AUTOCOMMIT")
    pool.session(write)
    assert pool.session(lambda session: session.scalar(text("select count(*) from effect"))) == 1


def test_emq_sqls_own_connections_are_in_autocommit_and_not_met(run: Running, db: Database) -> None:
    """Nor is what SQLAlchemy asks such an engine's first connection."""
    ways: tuple[dict[str, Any], ...] = (
        {"isolation_level": "AUTOCOMMIT"}, {"connect_args": {"autocommit": True}},
    )  # fmt: skip
    for given in ways:
        engine = create_engine(sqlalchemy_url(db.dsn), **given)
        emq = EMQ(engine)

        @emq.task
        def later() -> None: ...

        assert later.enqueue().status == "enqueued"
        with emq.connection() as connection:
            assert connection.autocommit
            assert emq.queues()
        engine.dispose()


def prepared(engine: Engine) -> None:
    with engine.connect() as connection:
        transaction = connection.begin_twophase()
        connection.execute(WRITE, {"n": 1})
        transaction.prepare()
        transaction.commit()


def committed_in_one_phase(engine: Engine) -> None:
    with engine.connect() as connection, connection.begin_twophase():
        connection.execute(WRITE, {"n": 1})


def by_a_session(engine: Engine) -> None:
    with Session(engine, twophase=True) as session:
        session.execute(WRITE, {"n": 1})
        session.commit()


TWO_PHASE = (prepared, committed_in_one_phase, by_a_session)


@pytest.fixture(params=["psycopg", "psycopg2"])
def two_phase(
    request: pytest.FixtureRequest, run: Running, make_pool: Callable[..., Pool]
) -> Iterator[Engine]:
    engine = make_pool(request.param).engine
    assert isinstance(engine, Engine)
    yield engine
    mine = "select count(*) from pg_prepared_xacts where database = current_database()"
    assert run.ledger.one(mine) == 0


def test_two_phase_is_refused_and_leaves_nothing_prepared(run: Running, two_phase: Engine) -> None:
    for commit in TWO_PHASE:
        with pytest.raises(CannotGuard, match="two-phase"):
            commit(two_phase)
        with two_phase.connect() as next_user:
            found = next_user.scalar(text("select count(*) from effect"))
            assert found == 0, commit.__name__
    assert run.written() == []


def test_who_swallows_the_refusal_of_two_phase_commits_nothing_either(
    run: Running, two_phase: Engine
) -> None:
    with two_phase.connect() as connection:
        transaction = connection.begin_twophase()
        connection.execute(WRITE, {"n": 1})
        with pytest.raises(CannotGuard):
            transaction.prepare()
        with pytest.raises(PendingRollbackError):
            transaction.commit()
    assert run.written() == []


def test_two_phase_in_another_database_is_left_alone(
    run: Running, make_pool: Callable[..., Pool], elsewhere: str
) -> None:
    run.lose()
    engine = make_pool(dsn=elsewhere).engine
    assert isinstance(engine, Engine)
    prepared(engine)
    with engine.connect() as connection:
        assert connection.scalar(text("select count(*) from effect")) == 1
