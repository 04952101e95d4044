"""Runs async handlers on one event loop, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import random
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Ended, left_to_settle
from emq_sql.worker.grip import NearGrip
from emq_sql.worker.held import Held
from emq_sql.worker.loopwatch import LoopWatch
from emq_sql.worker.records import about
from emq_sql.worker.running import Complete, Run
from emq_sql.worker.windup import wind_up

log = logging.getLogger("emq_sql.worker")

STOP_GRACE = 1.0  # seconds for a coroutine to end after it was cancelled
CLOSE_PATIENCE = 2.0


@dataclass(slots=True, eq=False)
class _Running:
    entry: Entry
    task: asyncio.Task[None] | None = None
    ending: Ending | None = None  # decided by who stopped it, not told yet
    settle_by: float = 0.0


class EventLoop:
    """Each run is a task in a context of its own; the loop starts with the first of them.

    A run that is stopped gets `task.cancel()` and is settled when it has ended, or a second later:
    a coroutine that swallows the cancellation, or blocks the loop, costs its slot and no lease. All
    methods may be called from any thread.
    """

    def __init__(self, held: Held, complete: Complete, ended: Ended) -> None:
        self._held = held
        self._complete = complete
        self._ended = ended
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret
        self._lock = threading.Lock()
        self._runs: dict[Entry, _Running] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run_loop, name="emq-loop", daemon=True)
        self._watch = LoopWatch(self._overdue, lambda: bool(self._runs))
        self._unended = False

    @property
    def occupied(self) -> int:
        """Slots in use or spoken for; after `close`, what has not ended."""
        with self._lock:
            return len(self._runs) or int(self._unended)

    def submit(self, entry: Entry) -> None:
        """Run it as soon as the loop comes to it."""
        self._add(_Running(entry), self._begin)

    def adopt(
        self, entry: Entry, run: Run, value: Awaitable[object], context: contextvars.Context
    ) -> None:
        """Run on what a handler in a thread has returned."""

        def begin(running: _Running) -> None:
            self._spawn(running, run, value, context)
            if entry.decided or entry.lost:  # stopped after its thread had left it
                self._cancel(running)

        self._add(_Running(entry), begin)

    def stop(self, entry: Entry, ending: Ending | None) -> bool:
        """See `Executor.stop`; False when it does not run here."""
        with self._lock:
            running = self._runs.get(entry)
            if running is None:
                return False
            running.ending, running.settle_by = ending, monotonic() + STOP_GRACE
        self._watch.look()
        self._post(self._cancel, running)
        return True

    def close(self) -> None:
        """Cancel what still runs, end the loop's generators and threads, and the loop; bounded."""
        with self._lock:
            loop = self._loop
        if loop is None:
            return
        loop.call_soon_threadsafe(self._wind_up, loop)
        self._thread.join(CLOSE_PATIENCE)
        self._watch.close()
        with self._lock:
            self._unended = self._thread.is_alive()

    def _add(self, running: _Running, begin: Callable[[_Running], None]) -> None:
        with self._lock:
            self._runs[running.entry] = running
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._watch.start(self._loop, self._thread)
                self._thread.start()
        self._watch.look()
        self._post(begin, running)

    def _post(self, do: Callable[[_Running], None], running: _Running) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(do, running, context=contextvars.Context())

    def _begin(self, running: _Running) -> None:
        entry = running.entry
        if entry.handler is None or not self._held.starts(entry):
            self._held.drop(entry)
            self._end(running, None)
            return
        grip = NearGrip(entry, self._held, self._ended)
        run = Run(entry.handler, grip, self._complete, self._rng)
        self._spawn(running, run, None, contextvars.Context())

    def _spawn(
        self, running: _Running, run: Run, value: Awaitable[object] | None,
        context: contextvars.Context,
    ) -> None:  # fmt: skip
        assert self._loop is not None
        task = self._loop.create_task(self._run(running, run, value), context=context)
        task.add_done_callback(lambda _: self._ended_unbegun(running, run, value))
        self._watch.knows(task, running.entry.claimed)
        running.task = task

    def _ended_unbegun(self, running: _Running, run: Run, value: object) -> None:
        """Of a task that is cancelled before its first step nothing has run, its end neither."""
        if self._runs.get(running.entry) is running:
            if inspect.iscoroutine(value):
                value.close()
            trouble = asyncio.CancelledError()
            ending = run.ending(None, trouble)
            self._end(running, left_to_settle(self._held, running.entry, ending, trouble))

    async def _run(self, running: _Running, run: Run, value: object) -> None:
        trouble: BaseException | None = None
        try:
            if value is None:
                value = run.call()
            if inspect.isawaitable(value):
                value = await value
        except BaseException as error:  # noqa: BLE001 - also SystemExit, which would end the loop
            trouble = error
        ending = run.ending(value, trouble)
        self._end(running, left_to_settle(self._held, running.entry, ending, trouble))

    def _end(self, running: _Running, ending: Ending | None) -> None:
        with self._lock:
            del self._runs[running.entry]
            ending, running.ending = running.ending or ending, None
        self._ended(running.entry, ending)

    def _cancel(self, running: _Running) -> None:
        if running.task is not None:
            running.task.cancel()

    def _overdue(self, now: float) -> float | None:
        """Settle what was stopped and does not end; when to look again."""
        overdue: list[tuple[Entry, Ending]] = []
        soonest: float | None = None
        with self._lock:
            for running in self._runs.values():
                if running.ending is None:
                    continue
                if running.settle_by <= now:
                    overdue.append((running.entry, running.ending))
                    running.ending = None
                else:
                    soonest = min(soonest or running.settle_by, running.settle_by)
        for entry, ending in overdue:
            extra = about(entry.claimed)
            log.warning(
                "%s does not end after it was cancelled; it keeps a slot", entry, extra=extra
            )
            self._ended(entry, ending)
        return soonest

    def _wind_up(self, loop: asyncio.AbstractEventLoop) -> None:
        self._ends = loop.create_task(wind_up(loop))

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
