"""After a commit whose answer was lost it is told what became of the job, once that is final."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Engine

from emq_sql.errors import Ambiguous, EmqError, LeaseBusy
from emq_sql.worker.context import Job
from tests.effects.conftest import sqlalchemy_url
from tests.plugins.proxy import Proxy, proxied
from tests.worker.conftest import PATIENCE, Bench

EFFECTS = "select count(*) from effect"
ENDS = "select how from emq.attempt union all select status from emq.archive"
KINDS = ("session", "connection", "psycopg")
# A commit that has begun, and waits for an advisory lock.
SLOW_COMMIT = """
create function wait_at_commit() returns trigger language plpgsql as
  $$ begin perform pg_advisory_xact_lock(42); return null; end $$;
create constraint trigger slow after insert on effect deferrable initially deferred
  for each row execute function wait_at_commit();
"""
WAITING = """
  from pg_stat_activity where datname = current_database() and wait_event = 'advisory'
"""
WAITS = f"select count(*) = 1 {WAITING}"


@pytest.fixture
def proxy(bench: Bench) -> Iterator[Proxy]:
    bench.reader.execute("create table effect (n int)")
    with proxied(bench.db.dsn) as made:
        yield made


@pytest.fixture
def far(proxy: Proxy) -> Iterator[Engine]:
    """An engine of the application's, behind the proxy."""
    engine = create_engine(sqlalchemy_url(proxy.dsn))
    yield engine
    engine.dispose()


def write(handle: Any) -> None:
    handle.execute("insert into effect values (1)" if hasattr(handle, "pgconn") else INSERT)


INSERT = text("insert into effect values (1)")


@contextmanager
def cut_when(proxy: Proxy, true: Callable[[], Any]) -> Iterator[None]:
    """Break the connections as soon as it is so, from another thread."""

    def wait() -> None:
        true()
        proxy.cut()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    yield
    thread.join(PATIENCE)


def lose_commit(proxy: Proxy, far: Engine, job: Job, kind: Any, *, arrives: bool) -> None:
    """Its answer is lost, or it never reaches the server."""
    with far.connect() as connection:  # opens it: its own commits are none of these
        connection.rollback()
    if arrives:
        proxy.lose_reply_to(b"COMMIT")
        with job.transaction(far, kind=kind) as handle:
            write(handle)
        return
    proxy.silence(b"COMMIT")
    with (
        cut_when(proxy, lambda: proxy.lost.wait(PATIENCE)),
        job.transaction(far, kind=kind) as handle,
    ):
        write(handle)


@pytest.mark.parametrize("arrives", [True, False], ids=["answer lost", "commit lost"])
def test_a_lost_commit_is_ambiguous_and_its_outcome_is_told(
    bench: Bench, proxy: Proxy, far: Engine, arrives: bool
) -> None:
    told: list[Any] = []

    def handler(job: Job, kind: Any) -> None:
        try:
            lose_commit(proxy, far, job, kind, arrives=arrives)
        except Ambiguous as error:
            told.append(str(error))
        told.append(job.outcome())
        if told[-1] == "yours":
            with job.transaction(far, kind=kind) as handle:
                write(handle)

    for kind in KINDS:
        bench.enqueue(bench.task(handler, takes_context=True), kind)
        bench.burst()
    assert all("job.outcome()" in said for said in told[::2])
    assert told[1::2] == ["completed" if arrives else "yours"] * 3
    assert bench.rows(EFFECTS) == [(3,)]
    assert bench.rows(ENDS) == [("completed",)] * 3
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]


@pytest.mark.parametrize("arrives", [True, False], ids=["answer lost", "commit lost"])
def test_the_worker_asks_by_itself_and_ends_no_job_twice(
    bench: Bench, proxy: Proxy, far: Engine, arrives: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(job: Job) -> None:
        lose_commit(proxy, far, job, "session", arrives=arrives)

    bench.enqueue(bench.task(handler, takes_context=True, backoff=3600.0))
    bench.burst()
    assert bench.rows(EFFECTS) == [(int(arrives),)]
    assert bench.rows(ENDS) == [("completed" if arrives else "failed",)]
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]
    said = "had completed when its handler raised" if arrives else "its own completion was not"
    assert said in caplog.text


def test_the_outcome_of_a_retry_whose_answer_was_lost(
    bench: Bench, proxy: Proxy, far: Engine
) -> None:
    told: list[Any] = []

    def handler(job: Job) -> None:
        with far.connect() as connection:
            connection.rollback()
        proxy.lose_reply_to(b"COMMIT")
        with pytest.raises(Ambiguous), job.transaction(far) as session:
            write(session)
            job.retry(3600)
        told.append(job.outcome())

    bench.enqueue(bench.task(handler, takes_context=True))
    bench.burst()
    assert told == ["handed back"]
    assert bench.rows(EFFECTS) == [(1,)]
    assert bench.rows("select failures from emq.scheduled") == [(1,)]
    assert bench.rows(ENDS) == [("failed",)]
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]


@pytest.mark.parametrize("asks", [True, False], ids=["handler asks", "worker asks"])
@pytest.mark.parametrize("commits", [True, False], ids=["commits", "is ended"])
def test_while_a_commit_hangs_nothing_final_is_said(
    bench: Bench, proxy: Proxy, far: Engine, asks: bool, commits: bool
) -> None:
    bench.reader.execute(SLOW_COMMIT)
    bench.reader.execute("select pg_advisory_lock(42)")
    told: list[Any] = []
    cut = threading.Event()

    def handler(job: Job) -> None:
        with (
            pytest.raises(Ambiguous),
            cut_when(proxy, lambda: bench.until(WAITS)),
            job.transaction(far) as session,
        ):
            write(session)
        cut.set()
        if asks:
            told.append(job.outcome())
            assert told == ["completed" if commits else "yours"]
            if told == ["completed"]:
                return
        raise ValueError("on purpose")

    bench.enqueue(bench.task(handler, takes_context=True, backoff=3600.0))
    bench.start()
    settler = bench.db.connect()  # to ask beside the reader, which waits in another thread
    query = "select coalesce(min(emq.decided(id, fence)), '') = 'busy' from emq.active"
    bench.until(WAITS)
    assert cut.wait(PATIENCE)
    assert settler.execute(query.encode()).fetchone() == (True,)
    assert told == []
    if commits:
        bench.reader.execute("select pg_advisory_unlock(42)")
    else:
        bench.rows(f"select pg_terminate_backend(pid) {WAITING}")
    bench.until("select count(*) = 0 from emq.active")
    assert bench.rows(EFFECTS) == [(int(commits),)]
    assert bench.rows(ENDS) == [("completed" if commits else "failed",)]
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]


def test_it_waits_no_longer_than_the_lease(bench: Bench, proxy: Proxy) -> None:
    told: list[EmqError] = []

    def handler(job: Job) -> None:
        with bench.db.connect(autocommit=False) as other:
            other.execute("select 1 from emq.active for update")
            with pytest.raises(LeaseBusy) as caught:
                job.outcome()
            told.append(caught.value)
        assert job.outcome() == "yours"

    bench.reader.execute("select emq.configure('default', p_lease => '1 s')")
    bench.enqueue(bench.task(handler, takes_context=True))
    bench.burst()
    assert [error.code for error in told] == ["EMQ203"]
    assert bench.rows(ENDS) == [("completed",)]
