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

from emq_sql.worker.effects import Effects
from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Ended, left_to_settle
from emq_sql.worker.grip import NearGrip
from emq_sql.worker.held import Held
from emq_sql.worker.loophome import LoopHome
from emq_sql.worker.records import about
from emq_sql.worker.running import Run

log = logging.getLogger("emq_sql.worker")

STOP_GRACE = 1.0  # seconds for a coroutine to end after it was cancelled
CLOSE_PATIENCE = 2.0
CLOSED = "A handler closed the event loop while this ran on it."


@dataclass(slots=True, eq=False)
class _Running:
    entry: Entry
    begin: Callable[[_Running], None]  # in the loop
    home: LoopHome | None = None
    run: Run | None = None  # once it has begun
    task: asyncio.Task[None] | None = None
    ending: Ending | None = None  # decided by who stopped it, not told yet
    settle_by: float = 0.0


class EventLoop:
    """Each run is a task in a context of its own; the loop starts with the first of them.

    A run that is stopped gets `task.cancel()` and is settled when it has ended, or a second later:
    a coroutine that swallows the cancellation, or blocks the loop, costs its slot and no lease. A
    loop that a handler closes by force is replaced, and what ran on it has failed. All methods may
    be called from any thread.
    """

    def __init__(self, held: Held, effects: Effects, ended: Ended) -> None:
        self._held = held
        self._effects = effects
        self._ended = ended
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret
        self._lock = threading.RLock()
        self._runs: dict[Entry, _Running] = {}
        self._home: LoopHome | None = None
        self._unended = False
        self._closed = False

    @property
    def occupied(self) -> int:
        """Slots in use or spoken for; after `close`, what has not ended."""
        if self._home is None and not self._runs:  # as in most workers
            return int(self._unended)
        with self._lock:
            return len(self._runs) or int(self._unended)

    def submit(self, entry: Entry) -> None:
        """Run it as soon as the loop comes to it."""
        self._add(_Running(entry, self._begin))

    def adopt(
        self, entry: Entry, run: Run, value: Awaitable[object], context: contextvars.Context
    ) -> None:
        """Run on what a handler in a thread has returned."""

        def begin(running: _Running) -> None:
            self._spawn(running, run, value, context)
            gone = entry.lost and entry.cancelled.is_set()  # and not settled by its own handler
            if entry.decided or gone:  # stopped after its thread had left it
                self._cancel(running)

        self._add(_Running(entry, begin))

    def stop(self, entry: Entry, ending: Ending | None) -> bool:
        """See `Executor.stop`; False when it does not run here."""
        with self._lock:
            running = self._runs.get(entry)
            if running is None:
                return False
            running.ending, running.settle_by = ending, monotonic() + STOP_GRACE
        self._post(running, self._cancel)
        return True

    def close(self) -> None:
        """Cancel what still runs, end the loop's generators and threads, and the loop; bounded."""
        with self._lock:
            self._closed = True
            home = self._home
        if home is None:
            return
        ended = home.close(CLOSE_PATIENCE)
        with self._lock:
            self._unended = not ended

    def _add(self, running: _Running) -> None:
        with self._lock:
            if self._closed:  # a thread that was long given up has come to its end
                self._held.drop(running.entry)
                return
            if self._home is None:
                home = LoopHome(self._overdue, lambda: bool(self._runs), self._gone)
                home.start()
                self._home = home
            self._runs[running.entry] = running
            running.home = self._home
        self._post(running, running.begin)

    def _post(self, running: _Running, do: Callable[[_Running], None]) -> None:
        home = running.home
        assert home is not None
        home.watch.look()
        if not home.post(do, running):
            self._gone(home)

    def _gone(self, home: LoopHome) -> None:
        """This loop cannot be run any more: what ran on it has failed, what did not goes on."""
        with self._lock:
            if self._closed:
                return
            if self._home is home:
                self._home = None
                log.error("a handler has closed the event loop; another one takes its place")
            runs = [running for running in self._runs.values() if running.home is home]
        home.watch.close()
        for running in runs:
            if running.run is None:
                self._add(running)
            else:
                self._fail(running, running.run, RuntimeError(CLOSED), befell=True)

    def _begin(self, running: _Running) -> None:
        entry = running.entry
        if entry.handler is None or not self._held.starts(entry):
            self._held.drop(entry)
            self._end(running, None)
            return
        grip = NearGrip(entry, self._held, self._ended)
        run = Run(entry.handler, grip, self._effects, self._rng)
        self._spawn(running, run, None, contextvars.Context())

    def _spawn(
        self, running: _Running, run: Run, value: Awaitable[object] | None,
        context: contextvars.Context,
    ) -> None:  # fmt: skip
        home = running.home
        assert home is not None
        running.run = run
        task = home.loop.create_task(self._run(running, run, value), context=context)
        task.add_done_callback(lambda _: self._ended_unbegun(running, run, value))
        home.watch.knows(task, running.entry.claimed)
        running.task = task

    def _ended_unbegun(self, running: _Running, run: Run, value: object) -> None:
        """Of a task that is cancelled before its first step nothing has run, its end neither."""
        if self._runs.get(running.entry) is running:
            if inspect.iscoroutine(value):
                value.close()
            self._fail(running, run, asyncio.CancelledError())

    def _fail(
        self, running: _Running, run: Run, trouble: BaseException, *, befell: bool = False
    ) -> None:
        ending = run.ending(None, trouble, befell=befell)
        self._end(running, left_to_settle(self._held, running.entry, ending, trouble))

    async def _run(self, running: _Running, run: Run, waits: Awaitable[object] | None) -> None:
        hooks = running.home.hooks if running.home is not None else None
        assert hooks is not None
        value, trouble = await run.finished(waits, hooks)
        ending = run.ending(value, trouble)
        self._end(running, left_to_settle(self._held, running.entry, ending, trouble))

    def _end(self, running: _Running, ending: Ending | None) -> None:
        with self._lock:
            if self._runs.get(running.entry) is not running:
                return  # its loop was closed, and it was settled then
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
