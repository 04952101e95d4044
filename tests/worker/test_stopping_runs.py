"""A handler is told to stop, and why; what cannot be stopped costs one slot."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from emq_sql.worker.context import Job
from tests.worker.conftest import Bench
from tests.worker.traced import statements, traced

LEASE = timedelta(seconds=1.5)
LAST_CLAIM = """
select query_start from pg_stat_activity
 where datname = current_database() and application_name like 'emq claim %%'
"""


def waits(seen: list[Any]) -> Callable[[Job], None]:
    """A sync handler that says that it has begun, waits until it is told, and says why."""

    def run(job: Job) -> None:
        seen.append("begun")
        job.wait_cancelled(20)
        seen.append(job.cancel_reason)

    return run


def awaits(seen: list[Any]) -> Callable[[Job], Any]:
    """An async one that does the same when its task is cancelled."""

    async def run(job: Job) -> None:
        seen.append("begun")
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            seen.append(job.cancel_reason)
            raise

    return run


both = pytest.mark.parametrize("handler", [waits, awaits])


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def end(bench: Bench) -> None:
    """Let the last worker end as it does on SIGTERM."""
    worker, thread = bench.running[-1]
    worker.drain()
    thread.join(20)
    assert not thread.is_alive()
    assert worker.released_all


@both
def test_a_cancel_comes_with_the_next_extension_and_costs_one_other_statement(
    bench: Bench, handler: Any, tmp_path: Path
) -> None:
    def connect() -> psycopg.Connection[Any]:
        if (thread := threading.current_thread().name) == "emq-keeper":
            return traced(bench.db.dsn, tmp_path / thread)
        return psycopg.connect(bench.db.dsn, autocommit=True)

    bench.connect = connect  # type: ignore[method-assign]
    seen: list[Any] = []
    (id,) = bench.enqueue(bench.task(handler(seen), takes_context=True))
    worker = bench.start(lease=LEASE)
    bench.until("select count(*) = 1 from emq.active where extensions >= 2")
    bench.until("select count(*) > 0 from emq.active a, emq.cancel(a.id, 'no need') c")
    until(lambda: not worker.hanging)
    assert seen == ["begun", "cancelled by an operator"]
    end(bench)
    sent = {text.partition("(")[0] for text in statements(tmp_path / "emq-keeper")}
    assert sent == {
        "select set_config", "select emq.worker_seen", "select answers, paused from emq.keep",
        "select emq.sql_stops",
    }  # fmt: skip
    assert bench.rows("select id, status, attempts from emq.archive") == [(id, "cancelled", 1)]
    # The keeper was late to know; the handler's end is no news.
    assert set(bench.rows("select verb from emq.refusal")) == {("extend",)}


@both
def test_a_run_over_its_timeout_is_told_and_counts_as_a_failure(bench: Bench, handler: Any) -> None:
    seen: list[Any] = []
    task = bench.task(
        handler(seen), takes_context=True, timeout=timedelta(seconds=0.5), backoff=3600
    )
    (id,) = bench.enqueue(task)
    worker = bench.start()
    bench.until("select count(*) = 1 from emq.scheduled")
    assert bench.rows("select id, attempts, failures, stalled from emq.scheduled") == [
        (id, 1, 1, 0)
    ]
    until(lambda: not worker.hanging)
    assert seen == ["begun", "timed out"]
    ((error,),) = bench.rows("select error from emq.attempt")
    assert "timed out after 0.5 s" in error
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]


@both
def test_a_run_that_outlasts_the_grace_is_told_and_costs_the_job_nothing(
    bench: Bench, handler: Any
) -> None:
    seen: list[Any] = []
    (id,) = bench.enqueue(bench.task(handler(seen), takes_context=True))
    bench.start(grace=timedelta(0))
    until(lambda: seen)
    end(bench)
    assert bench.rows("select id, attempts, failures, stalled from emq.pending") == [(id, 1, 0, 0)]
    until(lambda: len(seen) == 2)
    assert seen == ["begun", "worker stops"]


def hangs(go: threading.Event) -> Any:
    def run() -> None:
        go.wait(30)

    return run


def hangs_on(go: threading.Event) -> Any:
    async def run() -> None:
        while not go.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    return run


@pytest.mark.parametrize("handler", [hangs, hangs_on])
def test_a_handler_that_never_returns_costs_one_slot(bench: Bench, handler: Any) -> None:
    go = threading.Event()
    hanging = bench.task(handler(go), timeout=timedelta(seconds=0.5), backoff=3600)

    async def quick_one() -> str:
        return "done"

    bench.enqueue(hanging)
    worker = bench.start(concurrency=2, lease=LEASE)
    bench.until("select count(*) = 1 from emq.scheduled")  # it is settled: it took too long
    for task in (bench.task(lambda: "done"), bench.task(quick_one)):
        bench.enqueue(task, n=20)
    bench.until("select count(*) = 40 from emq.archive")
    assert worker.hanging == 1
    go.set()
    until(lambda: not worker.hanging)


def test_a_coroutine_that_blocks_the_loop_delays_no_lease_and_no_thread(bench: Bench) -> None:
    go = threading.Event()

    async def blocks() -> str:
        go.wait(30)
        return "in the end"

    async def polite() -> str:
        await asyncio.sleep(0)
        return "in the end"

    bench.enqueue(bench.task(blocks))
    bench.start(lease=LEASE)
    bench.until("select count(*) = 1 from emq.active where extensions >= 1")
    bench.enqueue(bench.task(polite))
    bench.enqueue(bench.task(lambda: "at once"), n=10)
    bench.until("select count(*) = 10 from emq.archive")
    # Both, the one that blocks and the one that waits for its turn.
    bench.until("select count(*) = 2 from emq.active where extensions >= 6")
    go.set()
    bench.until("select count(*) = 12 from emq.archive")
    assert bench.rows("select max(attempts) from emq.archive") == [(1,)]
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]


def test_a_sync_handler_may_run_an_event_loop_of_its_own(bench: Bench) -> None:
    async def deep(n: int) -> int:
        await asyncio.sleep(0.001)
        return n + await asyncio.to_thread(int, "1")

    def bridges(n: int) -> int:
        return asyncio.run(deep(n))

    async def native(n: int) -> int:
        return await deep(n)

    go = threading.Event()
    bench.enqueue(bench.task(hangs(go)))
    for n in range(8):
        bench.enqueue(bench.task(bridges), n)
        bench.enqueue(bench.task(native), n)
    bench.start(concurrency=4)
    bench.until("select count(*) = 16 from emq.archive")
    results = bench.rows("select result::int from emq.archive order by 1")
    assert results == [(n + 1,) for n in range(8) for _ in range(2)]
    go.set()


def test_a_coroutine_extends_its_lease_without_keeping_others_waiting(bench: Bench) -> None:
    known: list[Any] = []

    async def longer(job: Job) -> None:
        known.append(job.lease_deadline)
        await asyncio.gather(job.aextend(600), asyncio.sleep(0))
        known.append(job.lease_deadline)

    bench.enqueue(bench.task(longer, takes_context=True))
    bench.burst()
    assert bench.rows("select status from emq.archive") == [("completed",)]
    assert known[1] - known[0] > timedelta(minutes=9)


def test_while_a_queue_is_known_to_be_paused_nothing_is_claimed_from_it(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "emq_sql.worker")
    seen: list[Any] = []
    go = threading.Event()

    def run(job: Job) -> None:
        seen.append(job.queue_paused)
        until(lambda: job.queue_paused)
        seen.append(job.queue_paused)
        until(lambda: not job.queue_paused)
        go.wait(20)

    bench.enqueue(bench.task(run, takes_context=True))
    worker = bench.start(lease=LEASE, poll=timedelta(seconds=30))
    bench.until("select count(*) = 1 from emq.active")
    bench.rows("select emq.pause('default')")
    until(lambda: len(seen) == 2)
    last = bench.rows(LAST_CLAIM)
    bench.enqueue(bench.task(lambda: "after the pause"))
    worker.wake("default")  # somebody rings; it knows better
    bench.until("select count(*) = 1 from emq.active where extensions >= 8")
    assert bench.rows(LAST_CLAIM) == last
    bench.rows("select emq.resume('default')")
    until(lambda: "is resumed" in caplog.text)
    worker.wake("default")
    bench.until("select count(*) = 1 from emq.archive")
    go.set()
    bench.until("select count(*) = 2 from emq.archive")
    end(bench)
    assert seen == [False, True]
    assert caplog.text.count("the queue default is paused") == 1
    assert caplog.text.count("the queue default is resumed") == 1


def test_a_resumed_queue_is_found_by_the_next_poll_with_no_lease_to_extend(bench: Bench) -> None:
    paused = threading.Event()

    def run(job: Job) -> None:
        until(lambda: job.queue_paused)
        paused.set()

    bench.enqueue(bench.task(run, takes_context=True))
    bench.start(lease=LEASE, poll=timedelta(seconds=0.2))
    bench.until("select count(*) = 1 from emq.active")
    bench.rows("select emq.pause('default')")
    assert paused.wait(20)
    bench.until("select count(*) = 1 from emq.archive")
    bench.enqueue(bench.task(lambda: "later"))
    bench.rows("select emq.resume('default')")
    bench.until("select count(*) = 2 from emq.archive")
