"""What handlers do to their event loop ends none of the others, nor the worker."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

from emq_sql.rules.verdict import Completed, Failed
from tests.worker.room import Room


@pytest.fixture
def room() -> Room:
    return Room(4)


async def function(*_: Any) -> str:
    return threading.current_thread().name


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_an_exit_in_a_task_of_a_handler_does_not_end_the_loop(
    room: Room, error: BaseException
) -> None:
    async def raises() -> None:
        raise error

    async def leaves_it_alone() -> None:
        task = asyncio.create_task(raises())
        await asyncio.wait([task])

    assert room.run(leaves_it_alone) == Completed("null")
    assert room.run(function) == Completed('"emq-loop"')


def test_many_exits_in_tasks_of_a_handler_do_not_end_the_loop(room: Room) -> None:
    async def raises() -> None:
        raise SystemExit

    async def leaves_them_alone() -> None:
        await asyncio.wait([asyncio.create_task(raises()) for _ in range(50)])

    assert room.run(leaves_them_alone) == Completed("null")


def test_a_coroutine_that_stops_the_loop_stops_neither_itself_nor_others(room: Room) -> None:
    go = threading.Event()

    async def polite() -> str:
        while not go.is_set():
            await asyncio.sleep(0.001)
        return "goes on"

    async def stops() -> str:
        for _ in range(3):
            asyncio.get_running_loop().stop()
            await asyncio.sleep(0.001)
        go.set()
        return "stopped"

    room.submit(polite)
    room.submit(stops)
    ended = {room.ended()[1], room.ended()[1]}
    assert ended == {Completed('"goes on"'), Completed('"stopped"')}
    assert room.run(function) == Completed('"emq-loop"')
    assert room.executor.occupied == 0


def breaks(loop: Any) -> None:
    loop._selector.close()


def closes(loop: Any) -> None:
    loop._closed = True


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("how", [breaks, closes])
def test_a_loop_that_is_closed_by_force_is_replaced_and_what_ran_on_it_has_failed(
    room: Room, how: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emq_sql.worker.loopwatch.LOOK_EVERY", 0.02)

    async def waits() -> None:
        await asyncio.sleep(600)

    async def ends_the_loop() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(how, loop)
        await asyncio.sleep(600)

    given = {"permanent": (Exception,)}  # what befell them is no word of theirs
    jobs = {room.submit(waits, **given), room.submit(ends_the_loop, **given)}
    for _ in range(2):
        job, ending = room.ended()
        jobs.discard(job)
        assert isinstance(ending, Failed)
        assert "closed the event loop" in ending.error
        assert ending.reason == "exception"
    assert not jobs
    assert room.run(function) == Completed('"emq-loop"')
    assert room.executor.occupied == 0
    gc.collect()  # a broken loop cannot even be deleted without a word
