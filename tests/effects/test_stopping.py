"""Which statement is cancelled: that of the run, on a connection that it has out, and no other."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import OperationalError

from emq_sql.effects import stopping
from emq_sql.effects.stopping import Stopping
from emq_sql.job import Lease
from emq_sql.minting import new_id
from emq_sql.protocol import sessions
from tests.effects.conftest import sqlalchemy_url
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

LOCK = text("select pg_advisory_xact_lock(42)")
WAITS_FOR_A_LOCK = """
select pid from pg_stat_activity
 where datname = current_database() and wait_event_type = 'Lock'
"""
WAITING = """
count(*) = %s from pg_stat_activity
 where datname = current_database() and wait_event_type = 'Lock'
"""


def a_lease() -> Lease:
    """Of jobs that were claimed together, so with one fence."""
    minute = timedelta(minutes=1)
    return Lease(new_id(), (1 << 40) | 5, 1, datetime.now(UTC) + minute, minute)


class Runs:
    """Runs in threads, as a worker has them."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.stopping = Stopping()
        self.threads = ThreadPoolExecutor(4)

    def run(self, lease: Lease, do: Callable[[], Any]) -> Future[Any]:
        def call() -> Any:
            self.stopping.begin(lease)
            return do()

        return self.threads.submit(contextvars.Context().run, call)

    def waits(self) -> None:
        with self.engine.begin() as connection:
            connection.execute(LOCK)


@pytest.fixture
def runs(db: Database) -> Iterator[Runs]:
    engine = create_engine(sqlalchemy_url(db.dsn), pool_size=1, max_overflow=3)
    made = Runs(engine)
    yield made
    made.threads.shutdown()
    engine.dispose()


@pytest.fixture
def locked(runs: Runs, ledger: Ledger) -> Iterator[Ledger]:
    """Keeps others waiting for as long as the test wants."""
    ledger.run("select pg_advisory_lock(42)")
    yield ledger
    ledger.run("select pg_advisory_unlock_all()")


def cancelled(call: Future[Any]) -> bool:
    error = call.exception(20)
    if error is None:
        return False
    assert isinstance(error, OperationalError), error
    return isinstance(error.orig, psycopg.errors.QueryCanceled)


def test_of_two_runs_that_were_claimed_together_one_is_stopped(runs: Runs, locked: Ledger) -> None:
    one, two = a_lease(), a_lease()
    assert one.fence == two.fence
    first, second = runs.run(one, runs.waits), runs.run(two, runs.waits)
    locked.wait(WAITING, 2)
    runs.stopping.stop(one)
    assert cancelled(first)
    assert locked.one(f"select {WAITING}", 1)
    locked.run("select pg_advisory_unlock(42)")
    assert not cancelled(second)


def test_a_connection_that_goes_back_while_a_request_is_on_its_way_serves_nobody_else(
    runs: Runs, locked: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request arrives when the next one has had every chance to get the same session."""
    asked, go = threading.Event(), threading.Event()
    real = sessions.cancel_statement

    def late(driver: sessions.Driver) -> None:
        asked.set()
        assert go.wait(20)
        real(driver)

    monkeypatch.setattr(sessions, "cancel_statement", late)
    lease = a_lease()
    first = runs.run(lease, runs.waits)
    locked.wait(WAITING, 1)
    was = locked.column(WAITS_FOR_A_LOCK)
    runs.stopping.stop(lease)
    assert asked.wait(20)
    locked.run("select pg_advisory_unlock(42)")
    assert not cancelled(first)  # it has ended before
    locked.run("select pg_advisory_lock(42)")
    second = runs.run(a_lease(), runs.waits)
    locked.wait(WAITING, 1)
    assert locked.column(WAITS_FOR_A_LOCK) != was
    go.set()
    locked.wait("not exists (select from pg_stat_activity where pid = any(%s))", was)
    locked.run("select pg_advisory_unlock(42)")
    assert not cancelled(second)


def test_what_a_run_has_left_out_is_not_touched_when_it_is_over(
    runs: Runs, locked: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    """A connection that a handler keeps in a global; another job goes on with it."""
    kept: list[Connection] = []
    lease = a_lease()
    runs.run(lease, lambda: kept.append(runs.engine.connect())).result(20)
    run = runs.stopping._runs[lease.id, lease.fence]
    runs.stopping.end(lease)
    second = runs.run(a_lease(), lambda: kept[0].execute(LOCK))
    locked.wait(WAITING, 1)
    runs.stopping.stop(lease)
    run.stop()
    assert locked.one(f"select {WAITING}", 1)
    locked.run("select pg_advisory_unlock(42)")
    assert not cancelled(second)
    kept[0].close()


def test_a_run_that_computes_is_left_alone_and_one_between_two_statements_is_not(
    runs: Runs, locked: Ledger, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", "emq_sql.effects")
    monkeypatch.setattr(stopping, "LOOKS_FOR", 0.1)
    computes, between = a_lease(), a_lease()
    began, go = threading.Event(), threading.Event()

    def begins_another() -> None:
        with runs.engine.begin() as connection:
            began.set()
            assert go.wait(20)
            connection.execute(LOCK)

    first = runs.run(computes, lambda: go.wait(20))
    second = runs.run(between, begins_another)
    assert began.wait(20)
    runs.stopping._runs[computes.id, computes.fence].stop()
    assert f"job {computes.id} (attempt 1) runs no SQL that could be cancelled" in caplog.text
    monkeypatch.setattr(stopping, "LOOKS_FOR", 20.0)
    runs.stopping.stop(between)
    go.set()
    assert cancelled(second)
    assert first.result(20)


def test_each_connection_is_looked_at_once_and_no_transaction_is_left_open(
    runs: Runs, locked: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Any] = []
    real = sessions.is_direct
    monkeypatch.setattr(sessions, "is_direct", lambda *given: (looked.append(1), real(*given))[1])
    seen: list[str] = []

    def asks() -> None:
        with runs.engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            seen.append(driver.info.transaction_status.name)
            shown = connection.execute(text("show client_connection_check_interval"))
            seen.append(shown.scalar_one())

    for _ in range(3):
        runs.run(a_lease(), asks).result(20)
    assert seen == ["IDLE", "2s"] * 3
    assert looked == [1]
    with runs.engine.connect() as outside:  # no run
        assert outside.execute(text("select 1")).scalar_one() == 1
    assert looked == [1]


def test_a_limit_that_somebody_has_chosen_stays(db: Database) -> None:
    engine = create_engine(
        sqlalchemy_url(db.dsn), connect_args={"options": "-c client_connection_check_interval=7s"}
    )
    made = Runs(engine)

    def shown() -> Any:
        with engine.connect() as connection:
            return connection.execute(text("show client_connection_check_interval")).scalar_one()

    assert made.run(a_lease(), shown).result(20) == "7s"
    made.threads.shutdown()
    engine.dispose()


def test_a_driver_that_cannot_be_cancelled_is_said_to_be_none(
    db: Database, locked: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    made = Runs(create_engine(sqlalchemy_url(db.dsn, "psycopg2")))
    lease = a_lease()
    call = made.run(lease, made.waits)
    locked.wait(WAITING, 1)
    made.stopping._runs[lease.id, lease.fence].stop()
    assert "cannot be cancelled: its driver is not psycopg 3" in caplog.text
    assert locked.one(f"select {WAITING}", 1)
    locked.run("select pg_advisory_unlock(42)")
    call.result(20)
    made.threads.shutdown()
    made.engine.dispose()
