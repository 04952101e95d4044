"""Async handlers share one loop, and a bad one costs its slot and nothing else."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import sys
import threading
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from emq_sql.rules.verdict import Completed, Failed
from emq_sql.worker.context import Job
from emq_sql.worker.current import running
from emq_sql.worker.endings import Released
from tests.worker.room import Room


@pytest.fixture
def room() -> Room:
    return Room(4)


def thread() -> str:
    return threading.current_thread().name


class Thread:
    def name(self) -> str:
        return thread()


def passes_on() -> Any:
    return function()


class Callable:
    """An object whose call is async."""

    async def __call__(self, *_: Any) -> str:
        return thread()

    async def method(self, *_: Any) -> str:
        return thread()


async def function(*_: Any) -> str:
    return thread()


@pytest.mark.parametrize(
    "handler",
    [
        function,
        Callable(),
        Callable().method,
        functools.partial(function, 1),
        functools.partial(Callable(), 1),
        functools.partial(functools.partial(function, 1), 2),
        passes_on,
    ],
)
def test_whatever_returns_a_coroutine_runs_on_the_loop(room: Room, handler: Any) -> None:
    assert room.run(handler) == Completed('"emq-loop"')


@pytest.mark.parametrize("handler", [thread, functools.partial(thread), Thread().name])
def test_whatever_does_not_runs_in_a_thread(room: Room, handler: Any) -> None:
    assert room.run(handler).result.startswith('"emq-slot-')


def test_coroutines_run_at_the_same_time(room: Room) -> None:
    together = asyncio.Barrier(4)

    async def meets() -> str:
        await together.wait()
        return "met"

    for _ in range(4):
        room.submit(meets)
    assert [room.ended()[1] for _ in range(4)] == [Completed('"met"')] * 4
    assert room.executor.occupied == 0


def test_what_one_coroutine_sets_in_its_context_no_other_sees(room: Room) -> None:
    seen = contextvars.ContextVar("seen", default="nothing")

    async def sets() -> str:
        before = seen.get()
        seen.set("something")
        await asyncio.sleep(0)
        return before

    assert [room.run(sets), room.run(sets)] == [Completed('"nothing"')] * 2


def test_code_under_a_handler_knows_its_job(room: Room) -> None:
    def which() -> str:
        claimed = running.get()
        return str(claimed and claimed.lease.id)

    async def deep() -> list[str]:
        by_task = await asyncio.create_task(asyncio.to_thread(which))
        return [which(), by_task]

    job = room.submit(deep)
    assert room.ended()[1] == Completed(f'["{job.lease.id}","{job.lease.id}"]')
    job = room.submit(which)
    assert room.ended()[1] == Completed(f'"{job.lease.id}"')
    assert running.get() is None


def test_a_run_that_is_stopped_is_cancelled_and_settled_once_it_has_cleaned_up(room: Room) -> None:
    steps: list[str] = []
    started = threading.Event()

    async def cleans_up() -> None:
        started.set()
        try:
            await asyncio.sleep(600)
        finally:
            await asyncio.sleep(0.01)
            steps.append("cleaned up")

    job = room.submit(cleans_up)
    assert started.wait(20)
    room.stop(job, Released())
    assert room.ended() == (job, Released())
    assert steps == ["cleaned up"]
    assert room.executor.occupied == 0


def test_a_coroutine_that_swallows_its_cancellation_is_settled_and_keeps_its_slot(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emq_sql.worker.loop.STOP_GRACE", 0.05)
    started, go = threading.Event(), threading.Event()

    async def swallows() -> str:
        started.set()
        while not go.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        return "late"

    job = room.submit(swallows)
    assert started.wait(20)
    room.stop(job, Released())
    assert room.ended() == (job, Released())
    assert room.executor.occupied == 1
    assert room.run(function) == Completed('"emq-loop"')
    go.set()
    assert room.ended() == (job, None)
    assert room.executor.occupied == 0


def test_a_coroutine_that_blocks_the_loop_is_settled_all_the_same_and_named_in_the_log(
    room: Room, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "emq_sql.worker")
    monkeypatch.setattr("emq_sql.worker.loop.STOP_GRACE", 0.05)
    monkeypatch.setattr("emq_sql.worker.loopwatch.LOOK_EVERY", 0.02)
    monkeypatch.setattr("emq_sql.worker.loopwatch.BLOCKED_AFTER", 0.1)
    started, go = threading.Event(), threading.Event()

    async def blocks() -> None:
        started.set()
        go.wait(20)

    async def in_a_task() -> None:
        await asyncio.create_task(blocks())

    job = room.submit(in_a_task)
    assert started.wait(20)
    room.stop(job, Released())
    assert room.ended() == (job, Released())
    waits_for(lambda: "blocks the event loop" in caplog.text)
    assert f"job {job.lease.id}" in caplog.text
    assert "in wait" in caplog.text
    assert room.run(thread).result.startswith('"emq-slot-')
    go.set()
    assert room.ended() == (job, None)
    waits_for(lambda: "the event loop goes on" in caplog.text)
    assert caplog.text.count("blocks the event loop") == 1


def waits_for(true: Any) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_a_thread_has_handed_over_can_be_stopped_too(room: Room) -> None:
    started = threading.Event()

    async def waits() -> None:
        started.set()
        await asyncio.sleep(600)

    def passes_it_on() -> Any:
        return waits()

    job = room.submit(passes_it_on)
    assert started.wait(20)
    too_late = Failed("timed out", timedelta(seconds=1))
    room.stop(job, too_late)
    assert room.ended() == (job, too_late)
    assert isinstance(room.run(lambda: "in the same slot"), Completed)


def test_what_is_stopped_before_a_thread_hands_it_over_frees_its_slot_all_the_same(
    room: Room,
) -> None:
    started, go = threading.Event(), threading.Event()

    async def never_begins() -> None:
        raise AssertionError("it was stopped before")

    def passes_it_on() -> Any:
        started.set()
        go.wait(20)
        return never_begins()

    job = room.submit(passes_it_on)
    assert started.wait(20)
    room.stop(job, Released())
    assert room.ended() == (job, Released())
    go.set()
    assert room.ended() == (job, None)
    assert isinstance(room.run(lambda: "in the same slot"), Completed)


def test_of_a_lost_job_that_was_interrupted_nothing_is_settled(room: Room) -> None:
    started = threading.Event()

    async def waits() -> None:
        started.set()
        await asyncio.sleep(600)

    job = room.submit(waits)
    assert started.wait(20)
    job.lost = True
    job.cancelled.tell("lease lost")
    room.executor.stop(job, None)
    assert room.ended() == (job, None)
    assert len(room.held) == 0


def test_a_job_that_was_decided_before_its_turn_is_not_run(room: Room) -> None:
    ran = []
    started, go = threading.Event(), threading.Event()

    async def blocks() -> None:
        started.set()
        go.wait(20)

    async def runs() -> None:
        ran.append(1)

    first = room.submit(blocks)
    assert started.wait(20)
    second = room.submit(runs)
    room.stop(second, Released())
    go.set()
    told = [room.ended() for _ in range(2)]
    assert (second, Released()) in told
    assert first in [entry for entry, _ in told]
    assert ran == []


def test_waiting_for_the_cancellation_blocks_nobody(room: Room) -> None:
    waiting = threading.Event()

    async def waits(job: Job) -> list[Any]:
        before = await job.await_cancelled(0.01)
        waiting.set()
        return [before, await job.await_cancelled(20), job.cancel_reason]

    job = room.submit(waits, takes_context=True)
    assert waiting.wait(20)
    assert room.run(function) == Completed('"emq-loop"')
    job.cancelled.tell("lease lost")
    assert room.ended() == (job, Completed('[false,true,"lease lost"]'))


def test_a_child_that_a_coroutine_forks_ends_where_the_coroutine_ends(room: Room) -> None:
    async def forks() -> int:
        child = os.fork()
        if child == 0:
            sys.exit(7)
        _, status = await asyncio.to_thread(os.waitpid, child, 0)
        return os.waitstatus_to_exitcode(status)

    assert room.run(forks) == Completed("7")


def test_at_the_end_generators_threads_and_tasks_of_the_loop_are_ended(room: Room) -> None:
    ended: list[str] = []
    kept: list[Any] = []

    async def generator() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            ended.append("generator")

    async def background() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            ended.append("task")

    async def leaves_much_behind() -> None:
        kept.append(asyncio.create_task(background()))
        numbers = generator()
        kept.append(numbers)
        await anext(numbers)
        kept.append(await asyncio.to_thread(threading.current_thread))

    room.run(leaves_much_behind)
    room.executor.close()
    assert sorted(ended) == ["generator", "task"]
    assert not kept[2].is_alive()
    assert room.executor.occupied == 0


def test_a_thread_that_does_not_end_is_known_at_the_end(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emq_sql.worker.loop.CLOSE_PATIENCE", 0.1)
    started, go = threading.Event(), threading.Event()

    def hangs() -> None:
        started.set()
        go.wait(20)

    async def waits_for_it() -> None:
        await asyncio.to_thread(hangs)

    job = room.submit(waits_for_it)
    assert started.wait(20)
    room.stop(job, Released())
    assert room.ended() == (job, Released())
    room.executor.close()
    assert room.executor.occupied == 1
    go.set()
