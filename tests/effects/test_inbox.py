"""job.once: an effect that belongs to a key is had once, whichever job or attempt has it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from emq_sql.effects.inbox import once_in
from emq_sql.errors import BadSetting, Retryable, UnsupportedHandle
from emq_sql.job import Lease
from emq_sql.worker.context import Job
from tests.effects.conftest import Pool, lease_of
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger
from tests.worker.conftest import PATIENCE, Bench

WAITS = """
exists (select from pg_stat_activity
         where datname = current_database() and wait_event = 'transactionid')
"""


@pytest.fixture
def lease(ledger: Ledger) -> Lease:
    return lease_of(ledger.start())


def test_a_key_is_new_once_across_transactions_jobs_and_attempts(
    ledger: Ledger, lease: Lease, engine: Engine
) -> None:
    another = replace(lease_of(ledger.start()), fence=7)
    with Session(engine) as session:
        assert once_in(session, "emq", lease, "a")
        assert not once_in(session, "emq", lease, "a")
        session.rollback()
        assert once_in(session, "emq", lease, "a")  # rolled back it is free again
        assert once_in(session, "emq", lease, "b")
        session.commit()
        assert not once_in(session, "emq", lease, "a")
    with engine.begin() as connection:
        assert not once_in(connection, "emq", another, "a")
    kept = ledger.rows("select key, id, fence from emq.inbox order by key")
    assert kept == [("a", lease.id, lease.fence), ("b", lease.id, lease.fence)]


@pytest.mark.parametrize("commits", [True, False], ids=["commits", "rolls back"])
def test_of_two_at_once_the_second_waits_for_how_the_first_ends(
    db: Database, ledger: Ledger, lease: Lease, commits: bool
) -> None:
    first, second = db.connect(autocommit=False), db.connect(autocommit=False)
    assert once_in(first, "emq", lease, "a")
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(once_in(second, "emq", lease, "a")))
    thread.start()
    ledger.wait(WAITS)
    assert answers == []
    (first.commit if commits else first.rollback)()
    thread.join(PATIENCE)
    assert answers == [not commits]
    second.commit()
    assert ledger.one("select count(*) from emq.inbox") == 1


def test_who_waits_too_long_is_told_to_try_again(
    db: Database, ledger: Ledger, lease: Lease
) -> None:
    """With a function whose limit is shorter: nobody waits for 5 s here."""
    ledger.run("alter function emq.once set lock_timeout = '50ms'")
    first, second = db.connect(autocommit=False), db.connect(autocommit=False)
    assert once_in(first, "emq", lease, "a")
    with pytest.raises(Retryable, match="lock timeout"):
        once_in(second, "emq", lease, "a")
    second.execute("rollback")
    assert once_in(second, "emq", lease, "b")


@pytest.mark.parametrize("key", ["", "x" * 501, "a\0b", "\ud800", None, 5, b"a"])
def test_what_is_no_key_is_refused_before_anything_is_sent(
    db: Database, lease: Lease, key: Any
) -> None:
    connection = db.connect(autocommit=False)
    with pytest.raises(BadSetting):
        once_in(connection, "emq", lease, key)
    assert connection.info.transaction_status.name == "IDLE"


def test_longest_and_odd_keys_are_kept_as_they_are(ledger: Ledger, lease: Lease) -> None:
    keys = ["x" * 500, "'; drop table emq.inbox; --", "€" * 500, "%s $1 {}", " "]
    with psycopg.connect(ledger.conn.info.dsn) as connection:
        assert all(once_in(connection, "emq", lease, key) for key in keys)
    assert sorted(ledger.column("select key from emq.inbox")) == sorted(keys)


def test_in_autocommit_a_key_would_be_kept_without_its_effect(ledger: Ledger, lease: Lease) -> None:
    with pytest.raises(UnsupportedHandle, match="autocommit"):
        once_in(ledger.conn, "emq", lease, "a")
    assert ledger.one("select count(*) from emq.inbox") == 0


def test_on_every_driver_it_answers_alike(
    ledger: Ledger, lease: Lease, make_pool: Callable[..., Pool]
) -> None:
    from emq_sql.effects.inbox import once_on

    for driver in ("psycopg_async", "asyncpg", "psycopg2"):

        def twice(session: Session) -> list[bool]:
            found = [once_on(session.connection(), "emq", lease, "a€") for _ in range(2)]
            session.rollback()
            return found

        assert make_pool(driver).session(twice) == [True, False]
    assert ledger.one("select count(*) from emq.inbox") == 0


def test_in_a_block_the_handle_may_be_left_out(bench: Bench) -> None:
    def handler(job: Job) -> None:
        with pytest.raises(BadSetting, match="No transaction was given"):
            job.once("a")
        with job.transaction() as session:
            assert job.once("a") == (job.attempts == 1)
            assert not job.once("a", session)
            if job.attempts == 1:
                job.retry(0)

    bench.enqueue(bench.task(handler, takes_context=True))
    bench.start()
    bench.until("select count(*) = 1 from emq.archive")
    assert bench.rows("select how from emq.attempt") == [("failed",)]
