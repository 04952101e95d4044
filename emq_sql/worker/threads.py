"""Runs handlers in a fixed number of threads."""

from __future__ import annotations

import contextvars
import inspect
import logging
import random
import threading
from collections.abc import Awaitable, Callable
from queue import SimpleQueue

from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Ended, left_to_settle
from emq_sql.worker.grip import NearGrip
from emq_sql.worker.held import Held
from emq_sql.worker.running import Complete, Run

log = logging.getLogger("emq_sql.worker")

Adopt = Callable[[Entry, Run, Awaitable[object], contextvars.Context], None]


class Threads:
    """An `Executor` of `slots` daemon threads.

    A thread cannot be ended: a run that is stopped is settled at once, and its thread keeps the
    slot until the handler returns. An awaitable that a handler returns is given to `adopt`, which
    runs it on; this slot is free then. A handler that forks and returns in the child as well ends
    that child there.
    """

    def __init__(
        self, slots: int, held: Held, complete: Complete, ended: Ended, adopt: Adopt
    ) -> None:
        self._slots = slots
        self._held = held
        self._complete = complete
        self._ended = ended
        self._adopt = adopt
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret
        self._line: SimpleQueue[Entry | None] = SimpleQueue()
        self._occupied = 0
        self._lock = threading.Lock()

    @property
    def slots(self) -> int:
        """How many handlers may run at once."""
        return self._slots

    @property
    def occupied(self) -> int:
        """Slots in use or spoken for."""
        with self._lock:
            return self._occupied

    def start(self) -> None:
        """Start the threads."""
        for number in range(self._slots):
            threading.Thread(target=self._work, name=f"emq-slot-{number}", daemon=True).start()

    def submit(self, entry: Entry) -> None:
        """Run it as soon as a slot is free."""
        with self._lock:
            self._occupied += 1
        self._line.put(entry)

    def stop(self, entry: Entry, ending: Ending | None) -> None:
        """Settle it; its handler is told, and nothing more can be done."""
        if ending is not None:
            self._ended(entry, ending)

    def close(self) -> None:
        """Let idle threads end; nobody waits for the others."""
        for _ in range(self._slots):
            self._line.put(None)

    def _work(self) -> None:
        while (entry := self._line.get()) is not None:
            self._run(entry)

    def _run(self, entry: Entry) -> None:
        handler = entry.handler
        if handler is None or not self._held.starts(entry):
            self._held.drop(entry)
            self._free()
            self._ended(entry, None)
            return
        run = Run(handler, NearGrip(entry, self._held, self._ended), self._complete, self._rng)
        # A context of its own: what one job sets, the next one in this thread must not see.
        context = contextvars.Context()
        trouble: BaseException | None = None
        value: object = None
        try:
            value = context.run(run.call)
        except BaseException as error:  # noqa: BLE001 - also SystemExit: a job ends, not the worker
            trouble = error
        if inspect.isawaitable(value):
            run.leave_fork(None)
            self._adopt(entry, run, value, context)
            self._free()
            return
        ending = left_to_settle(self._held, entry, run.ending(value, trouble), trouble)
        self._free()
        self._ended(entry, ending)

    def _free(self) -> None:
        with self._lock:
            self._occupied -= 1
