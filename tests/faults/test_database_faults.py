"""The database restarts, ends sessions, loses answers, falls silent: no job is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import psycopg
import pytest

from emq_sql.embedded import Server
from emq_sql.protocol import steps
from tests.faults.processes import Field, wait_for
from tests.plugins.own_server import kind_of, own_server_of
from tests.plugins.proxy import CLAIM, COMPLETION, proxied
from tests.plugins.running import PgServer

BACKEND = "select pid from pg_stat_activity where datname = current_database() and"


@pytest.fixture(scope="module")
def own_server(pg_server: PgServer) -> Iterator[Server]:
    """A server of this module's own, which it may restart."""
    with own_server_of(kind_of(pg_server)) as server:
        yield server


@pytest.fixture
def frail(own_server: Server, tmp_path: Path) -> Iterator[Field]:
    """A field whose server may be restarted."""
    with psycopg.connect(own_server.dsn, autocommit=True) as connection:
        connection.execute("drop schema if exists emq cascade")
        connection.execute("drop table if exists effect, started, go")
        steps.upgrade(connection)
        field = Field(own_server.dsn, tmp_path, connection)
        try:
            yield field
        finally:
            field.close()
            with psycopg.connect(own_server.dsn) as reader:
                assert reader.execute("select * from emq.misplaced").fetchall() == []


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_of_the_database_loses_nothing_and_costs_running_jobs_nothing(
    frail: Field, own_server: Server, mode: Literal["fast", "immediate"]
) -> None:
    # Both are there before the restart: a worker that starts during one ends, and says why.
    workers = [frail.start(lease=20, concurrency=3) for _ in range(2)]
    frail.until("select count(*) = 2 from emq.worker")
    (long,) = frail.enqueue("deaf")
    frail.enqueue("plain", 150, seconds=0.02)
    frail.until_started(1)
    frail.until("select count(*) between 20 and 140 from emq.archive")
    own_server.restart(mode)
    frail.reader = psycopg.connect(own_server.dsn, autocommit=True)
    # The failures that the restart caused in handlers wait for their retry.
    frail.until("select count(*) = 150 from emq.archive")
    frail.let_go()
    frail.until_archived(151)
    assert frail.one("select count(distinct id) from emq.archive") == 151
    assert frail.rows("select attempts from emq.archive where id = %s", long) == [(1,)]
    assert frail.one("select count(*) from emq.refusal") == 0
    assert [worker.process.poll() for worker in workers] == [None, None]


def test_ending_each_session_of_a_worker_in_turn_costs_no_job_anything(field: Field) -> None:
    (long,) = field.enqueue("deaf")
    worker = field.start(lease=3, concurrency=3)
    field.until_started(1)
    done = 1
    for what in ("claim", "keep", "upkeep", "bell"):
        like = f"emq {what} %"
        field.until(f"select exists ({BACKEND} application_name like %s)", like)
        old = field.one(f"{BACKEND} application_name like %s", like)
        field.reader.execute("select pg_terminate_backend(%s, 5000)", [old])
        field.enqueue("plain", 5)
        done += 5
        field.until_archived(done - 1)
        field.until(f"select exists ({BACKEND} application_name like %s and pid <> %s)", like, old)
    seen = field.one("select extensions from emq.ledger")
    field.until("select extensions > %s from emq.ledger", seen)
    field.let_go()
    field.until_archived(done)
    assert field.rows("select count(*), max(attempts) from emq.archive") == [(done, 1)]
    assert field.one("select count(*) from emq.archive where id = %s", long) == 1
    assert field.one("select count(*) from emq.refusal") == 0
    assert worker.process.poll() is None


def test_a_claim_whose_answer_is_lost_is_read_back_and_run_in_the_same_attempt(
    field: Field,
) -> None:
    with proxied(field.dsn) as proxy:
        proxy.lose_reply_to(CLAIM)
        jobs = field.enqueue("hold", 3)
        # The lease is far longer than the test is patient: waiting it out would fail.
        field.start(dsn=proxy.dsn, lease=3600)
        assert proxy.lost.wait(20)
        field.until_started(3)
        field.let_go()
        field.until_archived(3)
    archived = field.rows("select id, attempts from emq.archive")
    assert sorted(archived) == sorted((job, 1) for job in jobs)


def test_a_completion_whose_answer_is_lost_is_repeated_and_counts_once(field: Field) -> None:
    with proxied(field.dsn) as proxy:
        field.enqueue("hold", 2)
        field.start(dsn=proxy.dsn, lease=3600)
        field.until_started(2)
        proxy.lose_reply_to(*COMPLETION)
        field.let_go()
        assert proxy.lost.wait(20)
        field.until_archived(2)
        field.until("select count(*) = 0 from emq.active")
        field.enqueue("plain")
        field.until_archived(3)
    assert field.rows("select count(distinct id), max(attempts) from emq.archive") == [(3, 1)]
    assert field.one("select count(*) from emq.refusal") == 0


def test_a_retry_whose_answer_is_lost_counts_one_failure_and_no_refusal(field: Field) -> None:
    with proxied(field.dsn) as proxy:
        proxy.lose_reply_to(b"emq.fail(")
        field.enqueue("fails")
        field.start(dsn=proxy.dsn, lease=3600)
        assert proxy.lost.wait(20)
        field.until_archived(1)
    assert field.rows("select attempts, failures, stalled from emq.archive") == [(2, 1, 0)]
    assert field.one("select count(*) from emq.refusal") == 0


def test_a_worker_that_hears_nothing_for_a_lease_tells_its_handler_and_claims_no_more(
    field: Field,
) -> None:
    with proxied(field.dsn) as proxy:
        (job,) = field.enqueue("hold")
        worker = field.start(dsn=proxy.dsn, lease=1)
        field.until_started(1)
        proxy.freeze()
        # `hold` talks to the database too, so only the worker's own word is waited for.
        wait_for(lambda: "no extension within its lease" in worker.said(), "lapse", field)
        other = field.start(lease=20)
        field.until("select count(*) = 1 from started where pid = %s", other.pid)
        field.let_go()
        field.until_archived(1)
        proxy.thaw()
        field.enqueue("plain", 20)
        field.until_archived(21)
        field.until("select count(*) > 0 from emq.refusal")
        assert worker.process.poll() is None
    assert field.rows("select attempts from emq.archive where id = %s", job) == [(2,)]


def test_a_row_that_is_locked_delays_its_own_job_and_no_other(field: Field) -> None:
    (locked, free) = field.enqueue("hold", 2)
    field.start(concurrency=2, lease=20)
    field.until_started(2)
    with psycopg.connect(field.dsn) as somebody:
        somebody.execute("select 1 from emq.active where id = %s for update", [locked])
        field.let_go()
        field.enqueue("plain", 20)
        field.until_archived(21)
        assert field.rows("select id from emq.active") == [(locked,)]
    field.until_archived(22)
    assert field.one("select count(*) from emq.archive where id in (%s, %s)", locked, free) == 2
    assert field.one("select max(attempts) from emq.archive") == 1
    assert field.one("select count(*) from emq.refusal") == 0


@pytest.mark.parametrize("isolation", ["serializable", "repeatable read"])
def test_workers_run_in_a_database_with_another_default_isolation(
    field: Field, isolation: str
) -> None:
    name = field.one("select current_database()")
    field.reader.execute(
        f"alter database {name} set default_transaction_isolation = '{isolation}'".encode()
    )
    field.enqueue("plain", 100)
    workers = [field.start(concurrency=4) for _ in range(2)]
    field.until_archived(100)
    assert field.one("select count(distinct id) from emq.archive") == 100
    for worker in workers:
        assert "could not serialize" not in worker.said()
        assert "could not be asked" not in worker.said()


def test_a_worker_uses_four_connections_whatever_its_concurrency(field: Field) -> None:
    field.enqueue("deaf", 30)
    field.start(concurrency=50)
    field.until_started(30)
    mine = "application_name like 'emq %%'"
    field.until(
        f"select count(*) = 4 from pg_stat_activity where datname = current_database() and {mine}"
    )
    field.let_go()
    field.until_archived(30)
    assert len(field.rows(f"{BACKEND} {mine}")) == 4
