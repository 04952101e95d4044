"""A connection borrowed from the application's pool comes back as it was, whatever happens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import event, text
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import SingletonThreadPool

from emq_sql import EMQ
from emq_sql.errors import UnsupportedHandle
from emq_sql.protocol.connecting import borrowed
from tests.plugins.databases import Database
from tests.protocol.interrupted_loans import an_engine, of_one, rolls_back


@pytest.fixture
def engine(db: Database) -> Iterator[Engine]:
    made = of_one(db.dsn)
    with made.begin() as conn:
        conn.execute(text("create table orders (n int)"))
    yield made
    made.dispose()


def test_an_interrupt_at_whatever_line_leaves_the_application_its_transactions(
    db: Database, engine: Engine
) -> None:
    """In a process of its own: CPython 3.11 may spin for ever when code is traced that has run
    thousands of times before.
    """
    interrupted = [sys.executable, "-m", "tests.protocol.interrupted_loans", db.dsn]
    done = subprocess.run(interrupted, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 15


def test_what_is_begun_on_it_and_not_ended_does_not_come_back(engine: Engine) -> None:
    with borrowed(engine) as conn:
        conn.execute("begin")
        conn.execute("insert into orders values (1)")
    assert rolls_back(engine)


def test_a_transaction_of_the_applications_on_a_shared_connection_is_left_alone(
    db: Database,
) -> None:
    engine = an_engine(db.dsn, poolclass=SingletonThreadPool)
    send = EMQ(engine, bell=False).task(name="send")(print)
    with Session(engine) as session:
        session.execute(text("create table kept (n int)"))
        with pytest.raises(UnsupportedHandle, match="a transaction is open"):
            send.enqueue()
        session.commit()
        assert session.execute(text("select count(*) from kept")).scalar_one() == 0
    assert send.enqueue().status == "enqueued"
    engine.dispose()


@pytest.mark.parametrize("when", ["connect", "checkout", "checkin"])
def test_a_listener_that_runs_sql_hinders_no_enqueue(
    db: Database, engine: Engine, when: str
) -> None:
    def runs(conn: psycopg.Connection[Any], *_: Any) -> None:
        conn.execute("set statement_timeout to '9s'")

    event.listen(engine, when, runs)
    engine.dispose()
    send = EMQ(engine, bell=False).task(name="send")(print)
    assert {send.enqueue().status for _ in range(3)} == {"enqueued"}
    assert {send.enqueue_many([{}, {}])[1].status for _ in range(3)} == {"enqueued"}
    assert rolls_back(engine)
    count = "select count(*) from emq.pending"
    with db.connect() as conn:
        assert conn.execute(count.encode()).fetchone() == (9,)


def prepared(emq: EMQ) -> int:
    with emq.connection() as conn:
        row = conn.execute("select count(*) from pg_prepared_statements").fetchone()
        assert row is not None
        return int(row[0])


def test_an_enqueue_is_prepared_on_a_connection_of_ours_that_is_used_again(db: Database) -> None:
    emq = EMQ(db.dsn, bell=False)
    send = emq.task(name="send")(print)
    send.enqueue()
    assert prepared(emq) == 0
    for _ in range(3):
        send.enqueue()
    assert prepared(emq) == 1
    emq.engine.dispose()


@pytest.mark.parametrize(
    "how",
    [
        "do $$ begin execute 'deallocate all'; end $$",
        "create schema before; alter function emq.enqueue set schema before;"
        " create function emq.enqueue(p_queue text, p_task text, p_payload jsonb, p_id uuid,"
        " p_priority int, out id uuid, out status varchar) language sql as"
        " $$ select * from before.enqueue(p_queue, p_task, p_payload, p_id, p_priority) $$",
    ],
    ids=["deallocated", "other columns"],
)
def test_a_prepared_statement_that_is_good_for_nothing_any_more_costs_no_call(
    db: Database, how: str
) -> None:
    emq = EMQ(db.dsn, bell=False)
    send = emq.task(name="send")(print)
    for _ in range(4):
        send.enqueue()
    assert prepared(emq) == 1
    with emq.connection() as conn:
        conn.execute(how.encode())
    assert {send.enqueue().status for _ in range(4)} == {"enqueued"}
    with db.connect() as conn:
        assert conn.execute("select count(*) from emq.pending").fetchone() == (8,)
    emq.engine.dispose()
