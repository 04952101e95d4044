"""Whatever is raised in the thread of a slot, its run ends and the slot lives on."""

from __future__ import annotations

import ctypes
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from emq_sql.rules.verdict import Completed, Failed
from emq_sql.worker.context import Job
from emq_sql.worker.grip import NearGrip
from emq_sql.worker.running import Run
from emq_sql.worker.threads import Threads
from emq_sql.worker.threadslot import ThreadSlot
from tests.worker.conftest import Bench
from tests.worker.room import Room


class Stray(Exception):
    """Sent to a thread by another one."""


class Lazy:
    """A proxy whose target is not to be had."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("it is not connected")


def send(thread: int, error: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


@pytest.fixture
def room() -> Room:
    return Room()


def test_a_result_whose_class_raises_when_it_is_looked_at_ends_its_job(room: Room) -> None:
    assert "emq_unstorable" in room.run(Lazy).result
    assert room.run(lambda: "next") == Completed('"next"')
    assert room.executor.occupied == 0


@pytest.mark.parametrize("error", [Stray, SystemExit, KeyboardInterrupt])
def test_what_is_sent_to_an_idle_slot_costs_the_next_job_nothing(
    room: Room, error: type[BaseException]
) -> None:
    ident = threading.get_ident
    for _ in range(20):
        thread = int(room.run(ident).result)
        send(thread, error)
        assert room.run(ident) == Completed(str(thread))
    assert room.executor.occupied == 0


def test_what_is_sent_while_a_run_is_being_ended_costs_no_slot_and_no_ending(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide = room.held.decide

    def decides(job: Any) -> bool:
        first = decide(job)
        if job.claimed.payload.get("*"):
            monkeypatch.setattr(room.held, "decide", decide)
            raise Stray
        return first

    monkeypatch.setattr(room.held, "decide", decides)
    # The handler has returned, and that is decided: it stays completed.
    assert room.run(lambda text: text, {"*": ["done"]}) == Completed('"done"')
    assert room.run(lambda: "next") == Completed('"next"')
    assert room.executor.occupied == 0


def test_under_a_storm_of_strays_every_run_ends_and_the_slots_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Some arrive in what Python calls by itself; in the hook of pytest they would fail the test.
    monkeypatch.setattr(sys, "unraisablehook", id)
    room, jobs = Room(2), 2000
    threads: set[int] = set()
    over = threading.Event()

    def storm() -> None:
        rng = random.Random(1)
        while not over.is_set():
            for thread in list(threads):
                send(thread, rng.choice([Stray, SystemExit]))
            time.sleep(rng.random() / 1000)

    def quick() -> None:
        threads.add(threading.get_ident())

    threading.Thread(target=storm, daemon=True).start()
    try:
        for _ in range(jobs // 2):
            waiting = {room.submit(quick), room.submit(quick)}
            while waiting:
                waiting.discard(room.ended()[0])
    finally:
        over.set()
    room.run(quick)
    until(lambda: room.executor.occupied == 0)
    assert [room.run(lambda: "next") for _ in range(4)] == [Completed('"next"')] * 4


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.001)


def raises(*_: Any) -> None:
    raise Stray


@pytest.mark.parametrize("hook", [sys.settrace, sys.setprofile])
def test_tracing_that_a_handler_leaves_on_costs_no_slot(room: Room, hook: Any) -> None:
    assert isinstance(room.run(lambda: hook(raises)), Completed | Failed)
    assert room.run(lambda: "next") == Completed('"next"')
    assert room.executor.occupied == 0


def nothing(*_: Any) -> None:
    pass


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_next_job_sees_no_tracing_of_the_one_before(room: Room, asynchronous: bool) -> None:
    def known() -> list[bool]:
        hooks = (sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile())
        return [hook is nothing for hook in hooks]

    def leaves() -> None:
        threading.settrace(nothing)
        threading.setprofile(nothing)
        sys.settrace(nothing)
        sys.setprofile(nothing)

    async def knows() -> list[bool]:
        return known()

    async def leaves_too() -> None:
        leaves()

    room.run(leaves_too if asynchronous else leaves)
    assert room.run(knows if asynchronous else known) == Completed("[false,false,false,false]")


def test_a_thread_that_dies_is_replaced_and_its_job_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = Threads._work

    def dies(self: Threads, slot: ThreadSlot) -> None:
        monkeypatch.setattr(Threads, "_work", work)
        slot.wake.get()
        assert slot.entry is not None and slot.entry.handler is not None
        grip = NearGrip(slot.entry, self._held, self._ended)
        slot.run = Run(slot.entry.handler, grip, self._effects, random.Random())
        raise SystemExit

    monkeypatch.setattr(Threads, "_work", dies)
    room = Room()
    ending = room.run(lambda: "its thread is gone")
    assert isinstance(ending, Failed)
    assert "thread of its slot died" in ending.error
    assert room.run(lambda: "next") == Completed('"next"')
    assert room.executor.occupied == 0


def test_a_job_whose_thread_is_struck_after_its_completion_stays_completed(bench: Bench) -> None:
    def strikes(job: Job) -> Lazy:
        with psycopg.connect(bench.db.dsn) as connection:
            job.complete(connection, "its own")
        thread = threading.get_ident()
        threading.Thread(target=send, args=(thread, Stray)).start()
        return Lazy()

    bench.enqueue(bench.task(strikes, takes_context=True), n=20)
    bench.burst(concurrency=2)
    rows = bench.rows("select status, result, count(*) from emq.archive group by 1, 2")
    assert rows == [("completed", "its own", 20)]
