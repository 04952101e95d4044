"""Effects and completion in one transaction: both are committed, or neither."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.orm import Session

from emq_sql.effects.completion import complete_in
from emq_sql.errors import BadPayload, JobFinished, LeaseBusy, LeaseLost, UnsupportedHandle
from emq_sql.job import Lease, NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import claiming, enqueueing, holding
from tests.plugins.databases import Database


@pytest.fixture
def engine(db: Database) -> Iterator[Engine]:
    made = create_engine(db.dsn.replace("postgresql://", "postgresql+psycopg://", 1))
    yield made
    made.dispose()


@pytest.fixture
def lease(db: Database) -> Lease:
    """A claimed job, and a table for effects."""
    connection = db.connect()
    connection.execute("create table effect (n int)")
    enqueueing.enqueue(connection, "emq", "default", NewJob("t", "{}", new_id()), own=True)
    (claimed,) = claiming.claim(connection, "emq", "default", 1, "me", 7)
    return claimed.lease


def counts(db: Database) -> tuple[int, int]:
    """(effects, archived)."""
    with psycopg.connect(db.dsn) as reader:
        row = reader.execute(
            "select (select count(*) from effect), (select count(*) from emq.archive)"
        ).fetchone()
    assert row is not None
    return row


def test_a_psycopg_transaction_commits_both(db: Database, lease: Lease) -> None:
    with psycopg.connect(db.dsn) as connection:
        connection.execute("insert into effect values (1)")
        complete_in(connection, "emq", lease, {"n": 1})
        assert counts(db) == (0, 0)
    assert counts(db) == (1, 1)


def test_a_psycopg_transaction_block_in_autocommit_commits_both(db: Database, lease: Lease) -> None:
    connection = db.connect()
    with connection.transaction():
        connection.execute("insert into effect values (1)")
        complete_in(connection, "emq", lease, None)
    assert counts(db) == (1, 1)


def test_a_session_commits_both(db: Database, lease: Lease, engine: Engine) -> None:
    with Session(engine) as session:
        complete_in(session, "emq", lease, None)
        session.execute(text("insert into effect values (1)"))
        session.commit()
    assert counts(db) == (1, 1)


def test_a_connection_of_sqlalchemy_commits_both(
    db: Database, lease: Lease, engine: Engine
) -> None:
    with engine.begin() as connection:
        connection.execute(text("insert into effect values (1)"))
        complete_in(connection, "emq", lease, None)
    assert counts(db) == (1, 1)


def test_a_rollback_takes_both_back(db: Database, lease: Lease, engine: Engine) -> None:
    with Session(engine) as session:
        session.execute(text("insert into effect values (1)"))
        complete_in(session, "emq", lease, None)
        session.rollback()
    assert counts(db) == (0, 0)
    assert holding.outcome(db.connect(), "emq", lease.id, lease.fence) == "yours"


def test_a_repeat_is_a_no_op_in_the_same_transaction_and_refused_in_a_later_one(
    db: Database, lease: Lease
) -> None:
    with psycopg.connect(db.dsn) as connection:
        for _ in range(2):
            complete_in(connection, "emq", lease, None)
    with psycopg.connect(db.dsn) as connection:
        connection.execute("insert into effect values (2)")
        with pytest.raises(JobFinished):
            complete_in(connection, "emq", lease, None)
        connection.commit()  # which the server turns into a rollback: no effect is had twice
    assert counts(db) == (0, 1)


def test_autocommit_is_refused_since_the_completion_would_stand_alone(
    db: Database, lease: Lease, engine: Engine
) -> None:
    with pytest.raises(UnsupportedHandle, match="autocommit"):
        complete_in(db.connect(), "emq", lease, None)
    with (
        engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
        pytest.raises(UnsupportedHandle, match="autocommit"),
    ):
        complete_in(connection, "emq", lease, None)
    assert counts(db) == (0, 0)


def test_a_stale_holder_can_commit_nothing_even_if_it_swallows_the_error(
    db: Database, lease: Lease, engine: Engine
) -> None:
    stale = Lease(lease.id, lease.fence - 1, 1, lease.lease_deadline, lease.lease)
    with psycopg.connect(db.dsn) as connection:
        connection.execute("insert into effect values (1)")
        with pytest.raises(LeaseLost):
            complete_in(connection, "emq", stale, None)
        connection.commit()
    with Session(engine) as session:
        session.execute(text("insert into effect values (1)"))
        with pytest.raises(LeaseLost):
            complete_in(session, "emq", stale, None)
        session.commit()
    assert counts(db) == (0, 0)


def test_a_row_that_stays_locked_is_busy_and_the_transaction_may_go_on(
    db: Database, lease: Lease
) -> None:
    with psycopg.connect(db.dsn) as somebody, psycopg.connect(db.dsn) as connection:
        somebody.execute("select 1 from emq.active for update")
        with pytest.raises(LeaseBusy, match=str(lease.id)):
            complete_in(connection, "emq", lease, None)
        somebody.rollback()
        complete_in(connection, "emq", lease, None)
    assert counts(db) == (0, 1)


def test_a_result_that_is_no_json_is_refused_before_anything_is_sent(
    db: Database, lease: Lease
) -> None:
    with psycopg.connect(db.dsn) as connection:
        with pytest.raises(BadPayload):
            complete_in(connection, "emq", lease, {1, 2})
        assert connection.info.transaction_status.name == "IDLE"


def test_what_is_no_handle_is_refused_by_its_type(db: Database, lease: Lease) -> None:
    for handle in (object(), None, "session", create_engine("postgresql+psycopg://")):
        with pytest.raises(UnsupportedHandle):
            complete_in(handle, "emq", lease, None)
