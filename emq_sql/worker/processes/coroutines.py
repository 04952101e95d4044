"""The event loop of a child, for its async handlers."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Awaitable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from emq_sql.worker.cancellation import Cancellation
from emq_sql.worker.endings import Ending
from emq_sql.worker.hooks import Hooks
from emq_sql.worker.running import Run
from emq_sql.worker.windup import run_on, wind_up

log = logging.getLogger("emq_sql.worker")

CLOSE_PATIENCE = 2.0
LOOK_EVERY = 1.0  # whether the loop is still there
CLOSED = "A handler closed the event loop while this ran on it."


class Coroutines:
    """One loop in a thread of its own, from the first async handler to the end of the child: what
    handlers keep on it (a pool of connections) lives on between jobs. One that a handler closes by
    force is replaced, and what ran on it has failed.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._over = False

    def ending(
        self, run: Run, value: Awaitable[object] | None, context: contextvars.Context,
        stopping: Cancellation,
    ) -> Ending:  # fmt: skip
        """Run it to its end, from its call or from the awaitable that it has returned.

        Its task is cancelled when `stopping` is told.
        """
        loop = self._started()
        done: Future[Ending] = Future()

        def unbegun(_: asyncio.Task[None]) -> None:
            if not done.done():  # it was cancelled before its first step
                if inspect.iscoroutine(value):
                    value.close()
                done.set_result(run.ending(None, asyncio.CancelledError()))

        def begin() -> None:
            task = loop.create_task(self._ending(run, value, done), context=context)
            task.add_done_callback(unbegun)

            def cancel() -> None:
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(task.cancel)

            if not stopping.then(cancel):
                task.cancel()

        loop.call_soon_threadsafe(begin, context=contextvars.Context())
        while not done.done():
            with suppress(TimeoutError):
                return done.result(LOOK_EVERY)
            if self._is_gone(loop):
                with suppress(InvalidStateError):  # it has ended just now
                    done.set_result(run.ending(None, RuntimeError(CLOSED), befell=True))
        return done.result()

    def close(self) -> None:
        """End what handlers have left on the loop, and the loop."""
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None:
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(self._wind_up, loop)
            thread.join(CLOSE_PATIENCE)

    async def _ending(
        self, run: Run, waits: Awaitable[object] | None, done: Future[Ending]
    ) -> None:
        value, trouble = await run.finished(waits, self._hooks)
        if not done.done():
            with suppress(InvalidStateError):  # it was given up just now
                done.set_result(run.ending(value, trouble))

    def _started(self) -> asyncio.AbstractEventLoop:
        loop = self._loop
        if loop is None or self._is_gone(loop):
            if loop is not None:
                log.error("a handler has closed the event loop; another one takes its place")
            loop = self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._run, args=(loop,), name="emq-loop", daemon=True
            )
            self._thread.start()
        return loop

    def _is_gone(self, loop: asyncio.AbstractEventLoop) -> bool:
        return loop.is_closed() or self._thread is None or not self._thread.is_alive()

    def _wind_up(self, loop: asyncio.AbstractEventLoop) -> None:
        self._last = loop.create_task(self._end(loop))

    async def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        await wind_up(loop)
        self._over = True
        loop.stop()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        self._hooks = Hooks()
        run_on(loop, lambda: self._over)
