"""The end of an event loop."""

from __future__ import annotations

import asyncio

ROUNDS = 3  # a task that is cancelled may make another one


async def wind_up(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel every other task, end the asynchronous generators and the threads of `to_thread`, and
    stop the loop. While one of them does not end, the loop goes on.
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
    loop.stop()
