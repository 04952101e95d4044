"""Running an event loop on, whatever handlers do to it, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

log = logging.getLogger("emq_sql.worker")

ROUNDS = 3  # a task that is cancelled may make another one
MOST_FALLS = 3  # in a row without a sign of life: such a loop is broken


def run_on(loop: asyncio.AbstractEventLoop, over: Callable[[], bool]) -> bool:
    """Run the loop until `over()`, then close it: True. False when it cannot be run any more.

    `loop.stop()` in a handler does not end it, nor does SystemExit in a task that a handler made. A
    loop that was closed by force, or whose selector was, cannot be run any more.
    """
    falls = 0

    def lives() -> None:
        nonlocal falls
        falls = 0

    asyncio.set_event_loop(loop)
    while not (over() or loop.is_closed() or falls >= MOST_FALLS):
        try:
            loop.call_soon(lives)
            loop.run_forever()
            if not over():
                log.error("a handler has stopped the event loop, which goes on")
        except (SystemExit, KeyboardInterrupt):  # in a task that a handler made
            log.exception("a task of a handler tried to end the event loop, which goes on")
        except BaseException:
            falls += 1
            log.exception("the event loop fell and is started again")
    whole = over()
    with contextlib.suppress(Exception):  # it may be broken
        loop.close()
    return whole


async def wind_up(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel every other task, end the asynchronous generators and the threads of `to_thread`.

    While one of them does not end, this goes on. Stopping the loop is left to the caller.
    """
    for _ in range(ROUNDS):
        others = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
        if not others:
            break
        for task in others:
            task.cancel()
        await asyncio.wait(others)
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
