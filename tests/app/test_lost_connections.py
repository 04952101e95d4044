"""Connections that break: never hidden inside a caller's transaction, survived outside of one."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy
from sqlalchemy import event, text
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from emq_sql import EMQ, Task
from emq_sql.embedded import start
from emq_sql.errors import Ambiguous, Refused, Retryable, UnsupportedHandle
from emq_sql.protocol import steps
from tests.app.conftest import Reader
from tests.plugins.databases import Database
from tests.plugins.proxy import Proxy, proxied

Send = Task[[int], None]


def pid_of(session: Session) -> int:
    return int(session.scalar(text("select pg_backend_pid()")) or 0)


@pytest.fixture
def proxy(db: Database) -> Iterator[Proxy]:
    """Between the application and the server."""
    with proxied(db.dsn) as made:
        yield made


@pytest.fixture
def through(proxy: Proxy) -> Iterator[Send]:
    """The task, of an application that reaches the server through the proxy."""
    emq = EMQ(proxy.dsn)

    @emq.task(name="send")
    def send(n: int) -> None: ...

    yield send
    emq.engine.dispose()


def test_a_backend_that_ends_in_the_callers_transaction_is_an_error_and_no_reconnect(
    send: Send, engine: Engine, reader: Reader
) -> None:
    opened: list[Any] = []
    with Session(engine) as session:
        session.execute(text("insert into orders values (1)"))
        send.using(session=session).enqueue(n=1)
        reader.end_session(pid_of(session))
        event.listen(engine, "connect", lambda *_: opened.append(1))
        for _ in range(3):
            with pytest.raises(Retryable):
                send.using(session=session).enqueue(n=2)
        assert opened == []
        with pytest.raises(DBAPIError):
            session.commit()
        session.rollback()
        send.using(session=session).enqueue(n=3)
        session.commit()
    assert reader.numbers() == [3]
    assert reader.rows("select * from orders") == []


def test_the_same_with_a_psycopg_connection(send: Send, db: Database, reader: Reader) -> None:
    conn = db.connect(autocommit=False)
    send.using(session=conn).enqueue(n=1)
    reader.end_session(conn.info.backend_pid)
    for _ in range(2):
        with pytest.raises(Retryable):
            send.using(session=conn).enqueue(n=2)
    assert conn.closed
    assert reader.numbers() == []


def test_in_autocommit_a_lost_reply_is_ambiguous(
    proxy: Proxy, through: Send, reader: Reader
) -> None:
    with psycopg.connect(proxy.dsn, autocommit=True) as conn:
        proxy.lose_reply_to(b".enqueue(")
        with pytest.raises(Ambiguous):
            through.using(session=conn).enqueue(n=1)
    assert proxy.lost.wait(30)
    assert reader.numbers() == [1]


def test_an_enqueue_of_its_own_survives_a_lost_reply_and_is_one_job(
    proxy: Proxy, through: Send, reader: Reader
) -> None:
    proxy.lose_reply_to(b".enqueue(")
    answer = through.enqueue(n=1)
    assert proxy.lost.wait(30)
    assert answer.status == "enqueued"
    assert reader.job()["id"] == answer.id


def test_a_batch_of_its_own_survives_a_lost_reply_and_each_of_its_jobs_is_one(
    proxy: Proxy, through: Send, reader: Reader
) -> None:
    proxy.lose_reply_to(b".enqueue_batch(")
    answers = through.enqueue_many([{"n": n} for n in range(3)])
    assert proxy.lost.wait(30)
    assert {answer.status for answer in answers} == {"enqueued"}
    assert reader.numbers() == [0, 1, 2]
    ids = [row["id"] for row in reader.rows("select id from emq.job order by id")]
    assert ids == [answer.id for answer in answers]


def test_a_batch_in_a_transaction_is_not_repeated_under_the_caller(
    send: Send, db: Database, reader: Reader
) -> None:
    conn = db.connect(autocommit=False)
    send.using(session=conn).enqueue(n=1)
    reader.end_session(conn.info.backend_pid)
    for _ in range(2):
        with pytest.raises(Retryable):
            send.using(session=conn).enqueue_many([{"n": 2}, {"n": 3}])
    assert conn.closed
    assert reader.numbers() == []


def test_a_job_that_was_scheduled_before_the_reply_was_lost_is_told_as_scheduled(
    proxy: Proxy, through: Send, reader: Reader
) -> None:
    proxy.lose_reply_to(b".enqueue(")
    assert through.using(delay=3600).enqueue(n=1).status == "scheduled"
    proxy.lose_reply_to(b".enqueue(")
    assert through.using(delay=0).enqueue(n=2).status == "enqueued"
    assert proxy.lost.wait(30)
    assert reader.numbers() == [1, 2]


def test_a_job_with_an_id_of_the_callers_may_then_be_a_duplicate_and_is_still_one(
    proxy: Proxy, through: Send, reader: Reader
) -> None:
    from emq_sql.minting import new_id

    wanted = new_id()
    proxy.lose_reply_to(b".enqueue(")
    assert through.using(job_id=wanted).enqueue(n=1).id == wanted
    assert reader.numbers() == [1]


@pytest.mark.parametrize(("queues", "lost"), [("ab", b"COMMIT"), ("aa", b".enqueue_many(")])
def test_many_jobs_survive_a_lost_reply(
    proxy: Proxy, through: Send, reader: Reader, queues: str, lost: bytes
) -> None:
    jobs = [through.using(queue=queues[n % 2]).job(n=n) for n in range(4)]
    proxy.lose_reply_to(lost)
    answers = through.sender.enqueue_many(jobs)
    assert proxy.lost.wait(30)
    assert [answer.status for answer in answers] == ["enqueued"] * 4
    assert [answer.id for answer in answers] == [job.job.id for job in jobs]
    assert reader.numbers() == [0, 1, 2, 3]


def test_a_backend_that_ended_while_its_connection_lay_in_the_pool_costs_nothing(
    emq: EMQ, send: Send, reader: Reader
) -> None:
    with emq.connection() as conn:
        pid = conn.info.backend_pid
    reader.end_session(pid)
    assert send.enqueue(n=1).status == "enqueued"
    assert reader.numbers() == [1]


def test_a_pool_full_of_dead_connections_costs_nothing(
    emq: EMQ, send: Send, reader: Reader
) -> None:
    with ExitStack() as stack:
        pids = [stack.enter_context(emq.connection()).info.backend_pid for _ in range(5)]
    assert len(set(pids)) == 5
    for pid in pids:
        reader.end_session(pid)
    assert send.enqueue(n=1).status == "enqueued"
    assert reader.numbers() == [1]


def test_a_connection_that_somebody_put_back_closed_costs_nothing(
    engine: Engine, reader: Reader
) -> None:
    emq = EMQ(engine)
    send = emq.task(name="send")(lambda n: n)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    driver.close()
    assert send.enqueue(n=1).status == "enqueued"
    assert reader.numbers() == [1]


@pytest.mark.faults
def test_a_restart_of_the_server_between_two_enqueues_costs_nothing() -> None:
    place = Path(tempfile.mkdtemp(prefix="emqt-", dir="/tmp"))
    place.chmod(0o755)
    try:
        with start(within=place) as server:
            with psycopg.connect(server.dsn, autocommit=True) as conn:
                steps.upgrade(conn)
            emq = EMQ(server.dsn)
            send = emq.task(name="send")(lambda n: n)
            with ExitStack() as stack:
                for _ in range(5):
                    stack.enter_context(emq.connection())
            send.enqueue(n=1)
            for n, mode in enumerate(("fast", "immediate"), 2):
                server.restart(mode)  # type: ignore[arg-type]
                assert send.enqueue(n=n).status == "enqueued"
            assert sum(queue["pending"] for queue in emq.queues()) == 3
            emq.engine.dispose()
    finally:
        shutil.rmtree(place)


def test_a_server_that_is_not_there_is_retryable_and_named(tmp_path: Path) -> None:
    emq = EMQ(f"host={tmp_path} dbname=x")
    with pytest.raises(Retryable, match="No connection was made"):
        emq.task(name="send")(print).enqueue()
    with pytest.raises(Retryable, match="No connection was made"):
        emq.queues()


def test_a_session_whose_database_is_not_there_is_retryable_and_named(
    send: Send, tmp_path: Path
) -> None:
    nowhere = sqlalchemy.create_engine(f"postgresql+psycopg:///x?host={tmp_path}")
    with Session(nowhere) as session, pytest.raises(Retryable, match="No connection was made"):
        send.using(session=session).enqueue(n=1)


def test_a_pool_without_a_free_connection_is_retryable_and_named(db: Database) -> None:
    small = sqlalchemy.create_engine(
        db.dsn.replace("postgresql:", "postgresql+psycopg:", 1),
        pool_size=1, max_overflow=0, pool_timeout=0.05,
    )  # fmt: skip
    emq = EMQ(small)
    with small.connect(), pytest.raises(Retryable, match="pool"):
        emq.queues()
    assert emq.queues() == []
    small.dispose()


def test_a_transaction_that_has_failed_before_is_refused_with_the_remedy(
    send: Send, db: Database, engine: Engine
) -> None:
    conn = db.connect(autocommit=False)
    with pytest.raises(psycopg.Error):
        conn.execute("select 1 / 0")
    with pytest.raises(Refused, match="roll back"):
        send.using(session=conn).enqueue(n=1)
    with Session(engine) as session:
        with pytest.raises(DBAPIError):
            session.execute(text("select 1 / 0"))
        with pytest.raises(Refused, match="roll back"):
            send.using(session=session).enqueue(n=1)
        session.rollback()
        assert send.using(session=session).enqueue(n=1).status == "enqueued"


def test_a_session_that_can_take_nothing_more_is_refused_with_the_remedy(
    send: Send, engine: Engine, reader: Reader
) -> None:
    with Session(engine, close_resets_only=False) as closed:
        closed.close()
        with pytest.raises(UnsupportedHandle, match="that is open"):
            send.using(session=closed).enqueue(n=1)
    with Session(engine) as committing:

        @event.listens_for(committing, "after_commit")
        def too_late(session: Session) -> None:
            with pytest.raises(UnsupportedHandle, match="that is open"):
                send.using(session=session).enqueue(n=2)

        send.using(session=committing).enqueue(n=3)
        committing.commit()
    assert reader.numbers() == [3]


def test_a_transaction_that_may_not_write_says_where_to_repeat_it(
    send: Send, db: Database, reader: Reader
) -> None:
    connection = db.connect(autocommit=False)
    connection.read_only = True
    with pytest.raises(Retryable, match="repeated where it may write"):
        send.using(session=connection).enqueue(n=1)
    connection.rollback()
    assert reader.numbers() == []


def test_an_enqueue_that_waits_too_long_is_retryable(
    send: Send, db: Database, reader: Reader
) -> None:
    from emq_sql.minting import new_id

    first, second = db.connect(autocommit=False), db.connect(autocommit=False)
    second.execute("set lock_timeout = '50ms'")
    second.commit()
    wanted = new_id()
    send.using(session=first, job_id=wanted).enqueue(n=1)
    with pytest.raises(Retryable):
        send.using(session=second, job_id=wanted).enqueue(n=1)
    second.rollback()
    first.commit()
    assert send.using(session=second, job_id=wanted).enqueue(n=1).duplicate


def test_two_callers_with_the_same_ids_in_other_orders_do_not_deadlock(
    emq: EMQ, send: Send, reader: Reader
) -> None:
    jobs = [send.using(queue=f"q{n % 5}").job(n=n) for n in range(50)]
    answers: list[list[str]] = []
    errors: list[BaseException] = []

    def add(order: list[int]) -> None:
        try:
            with emq.connection() as conn, conn.transaction():
                added = emq.enqueue_many([jobs[n] for n in order], session=conn)
                answers.append([answer.status for answer in added])
        except BaseException as error:
            errors.append(error)

    orders = [list(range(50)), list(reversed(range(50)))]
    threads = [threading.Thread(target=add, args=(order,)) for order in orders * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert sorted(map(tuple, answers)) == [("duplicate",) * 50] * 7 + [("enqueued",) * 50]
    assert reader.numbers() == list(range(50))


def test_a_forked_child_enqueues_while_the_parents_pool_is_open(
    emq: EMQ, send: Send, reader: Reader
) -> None:
    with emq.connection() as held:
        with emq.connection() as idle:
            pids = {conn.info.backend_pid for conn in (held, idle)}
        child = os.fork()
        if not child:
            code = 1
            try:
                with emq.connection() as mine:
                    assert mine.info.backend_pid not in pids
                for n in (1, 2):
                    send.enqueue(n=n)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        with emq.connection() as again:
            assert {conn.info.backend_pid for conn in (held, again)} == pids
            for conn in (held, again):
                assert conn.execute("select 1").fetchone() == (1,)
        assert send.enqueue(n=3).status == "enqueued"
    assert reader.numbers() == [1, 2, 3]
    ids = [row["id"] for row in reader.rows("select id from emq.job")]
    assert len(set(ids)) == 3
