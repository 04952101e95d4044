"""A job that is enqueued in somebody's transaction exists when, and only when, that commits."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads
from sqlalchemy import Integer, text
from sqlalchemy.engine import Engine
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    mapped_column,
    scoped_session,
    sessionmaker,
)

from emq_sql import EMQ, Task
from emq_sql.errors import BadSetting
from tests.app.conftest import Reader
from tests.plugins.databases import Database

Send = Task[[int], None]


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"

    n: Mapped[int] = mapped_column(Integer, primary_key=True)


def orders(reader: Reader) -> list[int]:
    return sorted(row["n"] for row in reader.rows("select n from orders"))


def test_a_session_commits_its_rows_and_the_job_together(
    send: Send, engine: Engine, reader: Reader
) -> None:
    with Session(engine) as session:
        session.add(Order(n=1))
        assert send.using(session=session).enqueue(n=1).status == "enqueued"
        assert reader.numbers() == []
        session.commit()
    assert (orders(reader), reader.numbers()) == ([1], [1])


def test_a_session_that_did_nothing_but_enqueue_commits_it(
    send: Send, engine: Engine, reader: Reader
) -> None:
    with Session(engine) as session:
        send.using(session=session).enqueue(n=1)
        session.commit()
    assert reader.numbers() == [1]


def test_a_session_that_rolls_back_leaves_neither(
    send: Send, engine: Engine, reader: Reader
) -> None:
    with Session(engine) as session:
        session.add(Order(n=1))
        session.flush()
        send.using(session=session).enqueue(n=1)
        session.rollback()
        send.using(session=session).enqueue(n=2)
        session.commit()
    assert (orders(reader), reader.numbers()) == ([], [2])


def test_a_session_that_is_closed_without_a_commit_leaves_nothing(
    send: Send, engine: Engine, reader: Reader
) -> None:
    with Session(engine) as session:
        send.using(session=session).enqueue(n=1)
    assert reader.numbers() == []


def test_a_view_that_raises_leaves_nothing(send: Send, engine: Engine, reader: Reader) -> None:
    with pytest.raises(LookupError), Session(engine) as session, session.begin():
        send.using(session=session).enqueue(n=1)
        raise LookupError
    assert reader.numbers() == []


def test_enqueue_flushes_nothing(send: Send, engine: Engine) -> None:
    with Session(engine) as session:
        order = Order(n=1)
        session.add(order)
        send.using(session=session).enqueue(n=1)
        assert order in session.new


def test_a_savepoint_takes_its_own_job_back_and_no_other(
    send: Send, engine: Engine, reader: Reader
) -> None:
    with Session(engine) as session:
        send.using(session=session).enqueue(n=1)
        with pytest.raises(LookupError), session.begin_nested():
            send.using(session=session).enqueue(n=2)
            raise LookupError
        with session.begin_nested():
            send.using(session=session).enqueue(n=3)
        session.commit()
    assert reader.numbers() == [1, 3]


def test_a_scoped_session_is_the_session_of_its_scope(
    send: Send, engine: Engine, reader: Reader
) -> None:
    registry = scoped_session(sessionmaker(engine))
    send.using(session=registry).enqueue(n=1)
    registry.commit()
    send.using(session=registry).enqueue(n=2)
    registry.remove()
    assert reader.numbers() == [1]


def test_a_connection_carries_the_job_in_its_transaction(
    send: Send, engine: Engine, reader: Reader
) -> None:
    with engine.connect() as connection:
        send.using(session=connection).enqueue(n=1)
        connection.rollback()
        send.using(session=connection).enqueue(n=2)
        assert reader.numbers() == []
        connection.commit()
    with engine.begin() as connection:
        send.using(session=connection).enqueue(n=3)
    assert reader.numbers() == [2, 3]


def test_a_connection_in_autocommit_has_the_job_at_once(
    send: Send, engine: Engine, reader: Reader
) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        send.using(session=connection).enqueue(n=1)
        assert reader.numbers() == [1]
        connection.rollback()
    assert reader.numbers() == [1]


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_stricter_isolation_level_carries_it_as_well(
    send: Send, engine: Engine, reader: Reader, level: Any
) -> None:
    with engine.connect().execution_options(isolation_level=level) as connection:
        connection.execute(text("select count(*) from orders"))
        send.using(session=connection).enqueue(n=1)
        connection.commit()
    assert reader.numbers() == [1]


def test_a_psycopg_connection_carries_the_job_in_its_transaction(
    send: Send, db: Database, reader: Reader
) -> None:
    conn = db.connect(autocommit=False)
    send.using(session=conn).enqueue(n=1)
    conn.rollback()
    send.using(session=conn).enqueue(n=2)
    assert reader.numbers() == []
    conn.commit()
    assert reader.numbers() == [2]


def test_psycopg_in_autocommit_has_the_job_at_once_outside_of_a_block(
    send: Send, db: Database, reader: Reader
) -> None:
    conn = db.connect(autocommit=True)
    send.using(session=conn).enqueue(n=1)
    assert reader.numbers() == [1]
    with pytest.raises(LookupError), conn.transaction():
        send.using(session=conn).enqueue(n=2)
        raise LookupError
    assert reader.numbers() == [1]


def test_what_a_framework_does_to_its_connection_changes_nothing(
    send: Send, db: Database, reader: Reader
) -> None:
    conn: psycopg.Connection[Any] = db.connect(
        autocommit=False, row_factory=dict_row, prepare_threshold=0
    )
    set_json_loads(lambda data: bytes(data).decode(), conn)
    conn.cursor_factory = psycopg.ClientCursor
    loaded = conn.execute("select '{}'::jsonb as value").fetchone()
    assert loaded == {"value": "{}"}
    one = send.using(session=conn, headers={"trace": "é"}).enqueue(n=1)
    two = send.using(session=conn).enqueue_many([{"n": 2}, {"n": 3}])
    conn.commit()
    assert [one.status, *[answer.status for answer in two]] == ["enqueued"] * 3
    assert reader.numbers() == [1, 2, 3]


def test_a_pipeline_carries_it(send: Send, db: Database, reader: Reader) -> None:
    conn = db.connect(autocommit=False)
    with conn.pipeline():
        conn.execute("select 1")
        assert send.using(session=conn).enqueue(n=1).status == "enqueued"
        conn.commit()
    assert reader.numbers() == [1]


def test_many_jobs_of_several_queues_join_the_transaction(
    emq: EMQ, send: Send, engine: Engine, reader: Reader
) -> None:
    jobs = [send.using(queue=queue).job(n=n) for n, queue in enumerate(["a", "b", "a"])]
    with Session(engine) as session:
        emq.enqueue_many(jobs, session=session)
        assert reader.numbers() == []
        session.rollback()
        emq.enqueue_many(jobs, session=session)
        session.commit()
    assert reader.numbers() == [0, 1, 2]


def test_several_queues_are_all_or_none_in_autocommit_too(
    emq: EMQ, send: Send, db: Database, reader: Reader
) -> None:
    conn = db.connect(autocommit=True)
    good = send.using(queue="a").job(n=1)
    ahead = send.using(queue="b", job_id="0fffffff-ffff-7000-8000-000000000000").job(n=2)
    with pytest.raises(ValueError, match="more than a day ahead"):
        emq.enqueue_many([good, ahead], session=conn)
    assert reader.numbers() == []
    emq.enqueue_many([good, send.using(queue="b").job(n=2)], session=conn)
    assert reader.numbers() == [1, 2]


def test_a_session_cannot_get_lost_on_a_job_that_is_only_made_ready(
    send: Send, engine: Engine
) -> None:
    with Session(engine) as session, pytest.raises(BadSetting, match="only made ready"):
        send.using(session=session).job(n=1)


def test_jobs_of_two_ledgers_join_one_transaction(
    db: Database, emq: EMQ, send: Send, engine: Engine, reader: Reader
) -> None:
    from emq_sql.protocol import steps

    steps.upgrade(db.connect(), schema="jobs")
    other = EMQ(engine, schema="jobs")
    beside = other.task(name="beside")(send.handler.function)
    with Session(engine) as session:
        send.using(session=session).enqueue(n=1)
        beside.using(session=session).enqueue(n=2)
        session.commit()
    assert reader.numbers() == [1]
    assert [row["task"] for row in reader.rows("select task from jobs.job")] == ["beside"]
    assert [queue["pending"] for app in (emq, other) for queue in app.queues()] == [1, 1]
