"""The event loop of a child, for its async handlers."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Awaitable
from concurrent.futures import Future
from contextlib import suppress

from emq_sql.worker.cancellation import Cancellation
from emq_sql.worker.endings import Ending
from emq_sql.worker.running import Run
from emq_sql.worker.windup import wind_up

log = logging.getLogger("emq_sql.worker")

CLOSE_PATIENCE = 2.0


class Coroutines:
    """One loop in a thread of its own, from the first async handler to the end of the child: what
    handlers keep on it (a pool of connections) lives on between jobs.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run_loop, name="emq-loop", daemon=True)

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
        return done.result()

    def close(self) -> None:
        """End what handlers have left on the loop, and the loop."""
        if (loop := self._loop) is not None:
            loop.call_soon_threadsafe(self._wind_up, loop)
            self._thread.join(CLOSE_PATIENCE)

    async def _ending(
        self, run: Run, value: Awaitable[object] | None, done: Future[Ending]
    ) -> None:
        trouble: BaseException | None = None
        outcome: object = value
        try:
            if outcome is None:
                outcome = run.call()
            if inspect.isawaitable(outcome):
                outcome = await outcome
        except BaseException as error:  # noqa: BLE001 - also SystemExit, which would end the loop
            trouble = error
        done.set_result(run.ending(outcome, trouble))

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread.start()
        return self._loop

    def _wind_up(self, loop: asyncio.AbstractEventLoop) -> None:
        self._last = loop.create_task(wind_up(loop))

    def _run_loop(self) -> None:
        loop = self._loop
        assert loop is not None
        asyncio.set_event_loop(loop)
        while not loop.is_closed():
            try:
                loop.run_forever()
                loop.close()
            except BaseException:
                # SystemExit or KeyboardInterrupt in a task that a handler made.
                log.exception("a task of a handler tried to end the event loop, which goes on")
