"""Whatever a handler does, its job ends and its slot is free again."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import sys
import threading
import time
from typing import Any

import pytest

from emq_sql.rules.verdict import Completed, Failed
from emq_sql.worker.context import Job
from emq_sql.worker.endings import Snoozed
from emq_sql.worker.handler import Handler
from tests.worker.making import entry
from tests.worker.room import Room


@pytest.fixture
def room() -> Room:
    return Room()


def test_arguments_arrive_as_they_were_enqueued(room: Room) -> None:
    ending = room.run(lambda a, *rest, key: [a, rest, key], {"*": [1, 2, 3], "key": "k"})
    assert ending == Completed('[1,[2,3],"k"]')


def test_the_context_comes_first(room: Room) -> None:
    def function(job: Job, a: int) -> list[Any]:
        return [str(job.id) == job.idempotency_key, job.attempts, job.queue, job.task, a]

    assert room.run(function, {"a": 4}, takes_context=True) == Completed('[true,1,"default","t",4]')


def test_a_coroutine_function_is_run_to_its_end(room: Room) -> None:
    async def function(a: int) -> int:
        await asyncio.sleep(0)
        return a + 1

    assert room.run(function, {"a": 1}) == Completed("2")


@pytest.mark.parametrize(
    "payload", [{}, {"b": 1}, {"a": 1, "c": 2}, {"*": [1, 2]}, {"*": {"a": 1}}]
)
def test_a_payload_that_does_not_fit_fails_the_job_before_the_call(
    room: Room, payload: dict[str, Any]
) -> None:
    called = []

    def function(a: int) -> None:
        called.append(a)

    ending = room.run(function, payload)
    assert isinstance(ending, Failed)
    assert "EMQ102" in ending.error
    assert called == []


def test_a_type_error_inside_the_handler_is_the_handlers_own(room: Room) -> None:
    ending = room.run(lambda: len(5))  # type: ignore[arg-type]
    assert isinstance(ending, Failed)
    assert "do not fit" not in ending.error
    assert "TypeError" in ending.error


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), ValueError()]
)
def test_no_exception_of_a_handler_ends_its_thread(room: Room, error: BaseException) -> None:
    def function() -> None:
        raise error

    ending = room.run(function)
    assert isinstance(ending, Failed)
    assert type(error).__name__ in ending.error
    assert room.run(lambda: "next") == Completed('"next"')


def test_sys_exit_in_a_coroutine_is_a_failure_too(room: Room) -> None:
    async def function() -> None:
        sys.exit("enough")

    assert isinstance(room.run(function), Failed)
    assert room.run(lambda: "next") == Completed('"next"')


def test_a_result_that_cannot_be_stored_does_not_fail_the_job(room: Room) -> None:
    ending = room.run(lambda: {1, 2})
    assert isinstance(ending, Completed)
    assert "emq_unstorable" in ending.result


def test_a_result_that_exits_when_it_is_read_ends_its_job_and_not_the_thread(room: Room) -> None:
    class Exits(dict[str, int]):
        def items(self) -> Any:
            raise SystemExit(3)

    assert isinstance(room.run(lambda: Exits(a=1)), Completed)
    assert room.run(lambda: "next") == Completed('"next"')


def test_a_child_that_a_handler_forks_ends_where_the_handler_ends(room: Room) -> None:
    def function(code: int) -> int:
        child = os.fork()
        if child == 0:
            sys.exit(code)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if (ended := os.waitpid(child, os.WNOHANG))[0]:
                return os.waitstatus_to_exitcode(ended[1])
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return -1

    assert room.run(function, {"code": 7}) == Completed("7")


def test_what_one_job_sets_in_its_context_the_next_does_not_see(room: Room) -> None:
    seen = contextvars.ContextVar("seen", default="nothing")
    room.run(lambda: seen.set("something") and None)
    assert room.run(seen.get) == Completed('"nothing"')


def test_a_snooze_is_told_at_once_and_what_comes_after_it_is_ignored(room: Room) -> None:
    told = threading.Event()

    def function(job: Job) -> str:
        job.snooze(60)
        assert told.wait(20)
        raise ValueError("after the snooze")

    first = room.run(function, takes_context=True)
    assert isinstance(first, Snoozed)
    told.set()
    assert room.ended()[1] is None


def test_a_job_that_is_lost_before_its_turn_is_not_run(room: Room) -> None:
    ran = []
    job = entry(Handler("t", lambda: ran.append(1)))
    job.lost = True
    room.held.add([job])
    room.executor.submit(job)
    assert room.ended() == (job, None)
    assert ran == []
    assert len(room.held) == 0


def test_a_hanging_handler_occupies_its_slot_and_no_other() -> None:
    room = Room(2)
    go = threading.Event()
    hanging = room.submit(lambda: go.wait(20))
    for _ in range(5):
        room.run(lambda: None)
    assert room.executor.occupied == 1
    go.set()
    assert room.ended()[0] is hanging
    assert room.executor.occupied == 0
