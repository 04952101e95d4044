"""What is claimed ahead waits under a kept lease, begins in order, and goes back unrun."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest

from emq_sql.errors import BadSetting
from emq_sql.worker import ahead
from emq_sql.worker.settings import MOST_PREFETCH, WorkerSettings
from tests.worker.conftest import Bench

HELD = "select count(*) = %s from emq.active"
ARCHIVED = "select count(*) = %s from emq.archive where status = 'completed'"
COSTS = """select coalesce(max(stalled + failures), 0) from (
             select stalled, failures from emq.pending union all
             select stalled, failures from emq.active union all
             select stalled, failures from emq.archive) x"""


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits, waits for as long as the test."""
    monkeypatch.setattr(ahead, "STUCK", 600.0)


def hold(bench: Bench, go: threading.Event) -> str:
    def long() -> None:
        go.wait(20.0)

    return bench.task(long)


@pytest.mark.usefixtures("patient")
def test_it_holds_no_more_than_its_slots_and_the_prefetch(bench: Bench) -> None:
    go = threading.Event()
    bench.enqueue(hold(bench, go), n=20)
    first = bench.start(concurrency=2, prefetch=5)
    bench.until(HELD, 7)
    second = bench.start(concurrency=1, prefetch=3)
    bench.until(HELD, 11)
    held = dict(bench.rows("select worker, count(*) from emq.active group by 1"))
    assert held == {first.name: 7, second.name: 4}
    go.set()
    bench.until(ARCHIVED, 20)
    assert bench.rows(COSTS) == [(0,)]


@pytest.mark.usefixtures("patient")
def test_they_begin_in_the_order_of_their_claim_and_never_more_than_the_slots_at_once(
    bench: Bench,
) -> None:
    begun: list[int] = []
    at_once: list[int] = []
    lock, running = threading.Lock(), [0]

    def note(n: int) -> None:
        with lock:
            begun.append(n)
            running[0] += 1
            at_once.append(running[0])

    def end() -> None:
        with lock:
            running[0] -= 1

    def in_thread(n: int) -> None:
        note(n)
        end()

    async def on_loop(n: int) -> None:
        note(n)
        await asyncio.sleep(0)
        end()

    tasks = [bench.task(in_thread), bench.task(on_loop)]
    for n in range(60):
        bench.enqueue(tasks[n % 2], n)
    bench.burst(concurrency=1, prefetch=30)
    assert begun == list(range(60))
    assert max(at_once) == 1


@pytest.mark.usefixtures("patient")
def test_threads_and_coroutines_share_the_slots_also_when_jobs_wait(bench: Bench) -> None:
    at_once: list[int] = []
    lock, running = threading.Lock(), [0]

    def change(by: int) -> None:
        with lock:
            running[0] += by
            at_once.append(running[0])

    def in_thread() -> None:
        change(+1)
        change(-1)

    async def on_loop() -> None:
        change(+1)
        for _ in range(5):
            await asyncio.sleep(0)
        change(-1)

    for task in (bench.task(in_thread), bench.task(on_loop)):
        bench.enqueue(task, n=150)
    bench.burst(concurrency=3, prefetch=100)
    assert bench.rows(ARCHIVED, 300) == [(True,)]
    assert max(at_once) <= 3


@pytest.mark.usefixtures("patient")
def test_the_leases_of_jobs_that_wait_are_kept(bench: Bench) -> None:
    go = threading.Event()
    bench.enqueue(hold(bench, go), n=6)
    bench.start(concurrency=1, prefetch=5, lease=timedelta(seconds=0.6))
    bench.until(HELD, 6)
    bench.until("select min(lease_deadline - claimed_at) > '1.5 s' from emq.active")
    go.set()
    bench.until(ARCHIVED, 6)
    assert bench.rows("select max(attempts), max(stalled) from emq.archive") == [(1, 0)]


@pytest.mark.usefixtures("patient")
def test_a_drain_gives_back_at_once_what_has_not_begun(bench: Bench) -> None:
    go = threading.Event()
    bench.enqueue(hold(bench, go), n=6)
    worker = bench.start(concurrency=2, prefetch=3)
    bench.until(HELD, 5)
    worker.drain()
    bench.until("select count(*) = 4 from emq.pending")
    assert bench.rows(HELD, 2) == [(True,)]  # those that run go on
    assert bench.rows(COSTS) == [(0,)]
    go.set()
    bench.until(ARCHIVED, 2)


def test_jobs_behind_long_ones_go_to_other_workers_and_do_not_come_back_at_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "STUCK", 0.1)
    go, quick = threading.Event(), bench.task(lambda: None)
    bench.enqueue(hold(bench, go), n=2)
    bench.enqueue(quick, n=3)
    first = bench.start(concurrency=2, prefetch=3)
    bench.until(HELD, 5)
    bench.until("select count(*) = 3 from emq.pending")
    bench.start(concurrency=1)
    bench.until(ARCHIVED, 3)
    assert bench.rows("select count(*) from emq.archive where worker = %s", first.name) == [(0,)]
    assert bench.rows(COSTS) == [(0,)]
    go.set()
    bench.until(ARCHIVED, 5)


@pytest.mark.usefixtures("patient")
def test_a_job_that_is_cancelled_while_it_waits_is_not_run(bench: Bench) -> None:
    go, ran = threading.Event(), []
    bench.enqueue(hold(bench, go))
    (id,) = bench.enqueue(bench.task(ran.append), 1)
    worker = bench.start(concurrency=1, prefetch=3)
    bench.until(HELD, 2)
    assert bench.rows("select emq.cancel(%s, 'test')", id) == [("done",)]
    worker.rung_for(id)  # as the bell does
    while len(worker._held) > 1:
        bench.rows("select pg_sleep(0.01)")
    go.set()
    bench.until(ARCHIVED, 1)
    bench.enqueue(bench.task(ran.append), 2)
    bench.until(ARCHIVED, 2)
    assert ran == [2]


@pytest.mark.usefixtures("patient")
def test_the_timeout_of_a_job_begins_with_its_run(bench: Bench) -> None:
    go = threading.Event()
    bench.enqueue(hold(bench, go))
    bench.enqueue(bench.task(lambda: None, timeout=timedelta(seconds=0.2)))
    bench.start(concurrency=1, prefetch=1)
    bench.until(HELD, 2)
    bench.until("select clock_timestamp() > max(claimed_at) + interval '0.5 s' from emq.active")
    go.set()
    bench.until(ARCHIVED, 2)
    assert bench.rows(COSTS) == [(0,)]


@pytest.mark.usefixtures("patient")
def test_what_waits_goes_back_when_one_on_its_last_chance_has_come(bench: Bench) -> None:
    """Whatever that one ends, nothing that has not begun should be lost with it."""
    go = threading.Event()
    bench.rows("select emq.configure('default', p_max_stalled => 2)")
    task = hold(bench, go)
    bench.enqueue(task, n=3)
    bench.start(concurrency=1, prefetch=5)
    bench.until(HELD, 3)
    with bench.reader.transaction():  # so that it is lost before the worker can see it
        bench.enqueue(task)
        bench.rows("select id from emq.claim('default', 1, 'gone', 7, '200 ms')")
    bench.until("select count(*) = 3 from emq.pending")
    assert bench.rows("select count(*), max(stalled) from emq.active") == [(1, 0)]
    go.set()
    bench.until(ARCHIVED, 4)
    assert bench.rows("select sum(stalled), sum(failures) from emq.archive") == [(1, 0)]


@pytest.mark.parametrize("given", [-1, MOST_PREFETCH + 1, True, "9", 1.5])
def test_a_prefetch_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(BadSetting, match="prefetch"):
        WorkerSettings(queues=("default",), prefetch=given)
