"""An enqueue rings after its commit, for those who wait, and never at the producer's cost."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from time import monotonic

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.event import registry
from sqlalchemy.orm import Session
from sqlalchemy.pool import AssertionPool, StaticPool

from emq_sql import EMQ, Task
from emq_sql.protocol import commits
from emq_sql.ringer import BURST, EVERY
from tests.app.conftest import Reader
from tests.plugins.databases import Database
from tests.plugins.parked import Parked

Send = Task[[int], None]
ROOT = Path(__file__).parents[2]


def quiet(emq: EMQ, parked: Parked) -> bool:
    """Whether nothing rings and nothing is about to."""
    return emq.flush_rings(20) and parked.heard() == []


def test_who_waits_hears_of_a_job_that_is_there_already(
    send: Send, parked: Parked, reader: Reader
) -> None:
    for n in range(20):
        send.enqueue(n=n)
        assert parked.hears() == "default"
        assert n in reader.numbers()


def test_each_queue_that_has_a_new_job_in_line_is_rung_for_and_no_other(
    emq: EMQ, send: Send, parked: Parked
) -> None:
    emq.enqueue_many([send.using(queue=queue).job(n=1) for queue in ("mail", "other", "default")])
    assert {parked.hears(), parked.hears()} == {"default", "mail"}
    job = send.enqueue(n=1)
    assert parked.hears() == "default"
    send.using(queue="other").enqueue(n=1)
    assert send.using(job_id=job.id).enqueue(n=1).duplicate
    assert send.using(delay=3600).enqueue(n=2).status == "scheduled"
    assert quiet(emq, parked)
    emq.pause("mail")
    emq.resume("mail")
    assert parked.hears() == "mail"


def test_a_session_rings_at_its_outermost_commit_alone(
    emq: EMQ, send: Send, engine: Engine, parked: Parked, reader: Reader
) -> None:
    with Session(engine) as session:
        send.using(session=session).enqueue(n=1)
        session.flush()
        with session.begin_nested():
            send.using(session=session, queue="mail").enqueue(n=2)
        assert quiet(emq, parked)
        session.commit()
        assert sorted([parked.hears(), parked.hears()]) == ["default", "mail"]
        assert reader.numbers() == [1, 2]
        session.execute(sqlalchemy.text("select 1"))
        session.commit()
    assert quiet(emq, parked)


def test_a_session_that_rolls_back_rings_nobody(
    emq: EMQ, send: Send, engine: Engine, parked: Parked
) -> None:
    with Session(engine) as session:
        send.using(session=session).enqueue(n=1)
        session.rollback()
        session.execute(sqlalchemy.text("select 1"))
        session.commit()
        send.using(session=session).enqueue(n=2)
        session.close()
        session.execute(sqlalchemy.text("select 1"))
        session.commit()
    assert quiet(emq, parked)


def test_a_session_in_an_outer_transaction_rings_when_that_commits(
    emq: EMQ, send: Send, engine: Engine, parked: Parked, reader: Reader
) -> None:
    with engine.connect() as connection:
        with Session(connection, join_transaction_mode="create_savepoint") as session:
            connection.begin()
            send.using(session=session).enqueue(n=1)
            session.commit()
        assert quiet(emq, parked)
        connection.commit()
        assert parked.hears() == "default"
        assert reader.numbers() == [1]


def test_a_connection_rings_at_each_commit_that_added_something(
    emq: EMQ, send: Send, engine: Engine, parked: Parked, reader: Reader
) -> None:
    with engine.connect() as connection:
        for n in (1, 2):
            send.using(session=connection).enqueue(n=n)
            connection.commit()
            assert parked.hears() == "default"
            assert n in reader.numbers()
        send.using(session=connection).enqueue(n=3)
        connection.rollback()
        connection.exec_driver_sql("select 1")
        connection.commit()
        assert quiet(emq, parked)


def test_a_connection_in_autocommit_rings_at_once(
    send: Send, engine: Engine, parked: Parked
) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        send.using(session=connection).enqueue(n=1)
        assert parked.hears() == "default"


def test_a_transaction_that_was_open_for_long_rings_at_its_end(
    emq: EMQ, send: Send, engine: Engine, parked: Parked, reader: Reader
) -> None:
    with engine.connect() as connection:
        send.using(session=connection).enqueue(n=1)
        connection.exec_driver_sql("select pg_sleep(2)")
        send.using(queue="mail").enqueue(n=2)  # which an open transaction holds up in nothing
        assert parked.hears() == "mail"
        assert quiet(emq, parked)
        connection.commit()
    assert parked.hears() == "default"
    assert reader.numbers() == [1, 2]


def test_a_psycopg_transaction_is_rung_for_by_whoever_ends_it(
    emq: EMQ, send: Send, db: Database, parked: Parked
) -> None:
    with db.connect(autocommit=False) as connection:
        send.using(session=connection).enqueue(n=1)
        connection.commit()
        assert quiet(emq, parked)
    emq.ring("default", "mail")
    assert {parked.hears(), parked.hears()} == {"default", "mail"}


def test_many_enqueues_ring_seldom_and_after_the_last_one(
    emq: EMQ, send: Send, parked: Parked, reader: Reader
) -> None:
    """Somebody who looks only when it is rung for misses no job."""
    seen: list[int] = []
    rings = 0

    def look() -> None:
        nonlocal seen, rings
        while len(seen) < 300:
            parked.hears()
            rings += 1
            seen = reader.numbers()

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    began = monotonic()
    for n in range(300):
        send.enqueue(n=n)
    looking.join(20)
    assert len(seen) == 300
    assert rings <= (monotonic() - began) / EVERY + BURST + 2


def test_a_session_is_listened_to_once_and_nothing_is_kept_of_it(
    emq: EMQ, send: Send, engine: Engine
) -> None:
    def work() -> weakref.ref[Connection]:
        with Session(engine) as session:
            for n in range(3):
                send.using(session=session).enqueue(n=n)
            connection = weakref.ref(session.connection())
            session.commit()
        return connection

    work()
    assert emq.flush_rings(20)
    gc.collect()
    before = len(registry._key_to_collection) + len(commits._noted)
    ended = [work() for _ in range(50)]
    assert emq.flush_rings(20)
    gc.collect()
    assert len(registry._key_to_collection) + len(commits._noted) <= before
    assert [connection() for connection in ended] == [None] * 50


def test_trouble_with_the_bell_is_not_the_producers(
    emq: EMQ, send: Send, engine: Engine, db: Database, reader: Reader,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    db.connect().execute("drop function emq.ring_parked(text[])")
    with caplog.at_level(logging.DEBUG, "emq_sql.ringer"), Session(engine) as session:
        send.enqueue(n=1)
        send.using(session=session).enqueue(n=2)
        session.commit()
        assert emq.flush_rings(20)
    assert reader.numbers() == [1, 2]
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}


def test_a_broken_connection_in_the_pool_loses_no_ring(
    emq: EMQ, send: Send, parked: Parked, reader: Reader
) -> None:
    with emq.connection() as conn:
        pid = conn.info.backend_pid
    reader.end_session(pid)
    emq.ring("mail")
    assert parked.hears() == "mail"


@pytest.mark.parametrize("pool", [StaticPool, AssertionPool])
def test_a_pool_that_has_one_connection_for_all_is_left_alone(
    db: Database, parked: Parked, pool: type[sqlalchemy.Pool]
) -> None:
    url = db.dsn.replace("postgresql:", "postgresql+psycopg:", 1)
    emq = EMQ(sqlalchemy.create_engine(url, poolclass=pool))
    send = emq.task(name="send")(lambda n: None)
    for n in range(20):
        send.enqueue(n=n)
    assert quiet(emq, parked)
    emq.engine.dispose()


def test_without_the_bell_nothing_rings(db: Database, parked: Parked) -> None:
    emq = EMQ(db.dsn, bell=False)
    send = emq.task(name="send")(lambda n: None)
    send.enqueue(n=1)
    with Session(emq.engine) as session:
        send.using(session=session).enqueue(n=2)
        session.commit()
    emq.resume("default")
    assert quiet(emq, parked)
    emq.ring("mail")
    assert parked.hears() == "mail"
    emq.engine.dispose()


def test_an_application_without_a_database_rings_by_the_pool_of_its_sessions(
    engine: Engine, parked: Parked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EMQ_DSN", raising=False)
    send = EMQ().task(name="send")(lambda n: None)
    with Session(engine) as session:
        send.using(session=session).enqueue(n=1)
        session.commit()
        assert parked.hears() == "default"


def test_a_forked_child_rings_by_itself(emq: EMQ, send: Send, parked: Parked) -> None:
    send.enqueue(n=1)
    assert parked.hears() == "default"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            send.using(queue="mail").enqueue(n=2)
            code = 0 if emq.flush_rings(20) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert parked.hears() == "mail"
    send.enqueue(n=3)
    assert parked.hears() == "default"


def test_the_end_of_the_process_waits_for_the_last_ring(db: Database, parked: Parked) -> None:
    program = (
        "from emq_sql import EMQ\n"
        "emq = EMQ()\n"
        "@emq.task\n"
        "def send(): pass\n"
        "send.enqueue()\n"
        "send.using(queue='mail').enqueue()\n"
    )
    environ = {**os.environ, "EMQ_DSN": db.dsn}
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT, env=environ, timeout=60)
    assert {parked.hears(), parked.hears()} == {"default", "mail"}


def test_a_server_that_is_gone_costs_the_committed_job_nothing(
    send: Send, engine: Engine, reader: Reader, db: Database
) -> None:
    emq = EMQ("host=127.0.0.1 port=9 dbname=nowhere connect_timeout=2")
    lost = emq.task(name="send")(lambda n: None)
    with Session(engine) as session:
        lost.using(session=session).enqueue(n=1)
        session.commit()
    with psycopg.connect(db.dsn, autocommit=True) as connection:
        lost.using(session=connection).enqueue(n=2)
    assert emq.flush_rings(20)
    assert reader.numbers() == [1, 2]
