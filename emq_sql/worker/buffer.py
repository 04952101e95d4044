"""Claimed jobs that wait in their worker for a slot: what was claimed ahead."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import monotonic

from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Ended, Executor
from emq_sql.worker.held import Held


class Buffer:
    """An `Executor` in front of another one, which gets as many jobs as it has slots.

    The others wait here in the order of their claim, under leases that are kept like all others,
    and the thread that ends one run starts the next: no slot waits for the database, nor for the
    thread that talks to it. What waits has not begun, so it may be given back at no cost at any
    time. Every method may be called from any thread.
    """

    def __init__(self, make: Callable[[Held, Ended], Executor], held: Held, ended: Ended) -> None:
        self._held = held
        self._ended = ended
        self._lock = threading.RLock()
        self._line: deque[Entry] = deque()
        self._stuck_since: float | None = None
        self._inner = make(held, self._one_ended)

    @property
    def slots(self) -> int:
        """How many handlers may run at once."""
        return self._inner.slots

    @property
    def running(self) -> int:
        """Slots in use, spoken for, or not usable now."""
        return self._inner.occupied

    @property
    def occupied(self) -> int:
        """The same, and what waits."""
        with self._lock:
            return self._inner.occupied + len(self._line)

    @property
    def waiting(self) -> int:
        """Jobs that wait for a slot."""
        return len(self._line)

    @property
    def stuck_since(self) -> float | None:
        """The monotonic instant since which some wait and none was begun; None while none waits."""
        return self._stuck_since

    @property
    def inside(self) -> int:
        """Runs in the worker's own process that have not ended."""
        return self._inner.inside

    def start(self) -> None:
        """Get ready."""
        self._inner.start()

    def submit(self, entry: Entry) -> None:
        """Run it as soon as a slot is free and all that came before it has begun."""
        with self._lock:
            if not self._line:
                if self._inner.occupied < self._inner.slots:
                    self._inner.submit(entry)
                    return
                self._stuck_since = monotonic()
            self._line.append(entry)

    def refill(self) -> None:
        """Begin what there is a slot for."""
        if not self._line:
            return
        with self._lock:
            begins = min(self._inner.slots - self._inner.occupied, len(self._line))
            for _ in range(begins):
                self._inner.submit(self._line.popleft())
            if begins > 0:
                self._stuck_since = monotonic() if self._line else None

    def take_waiting(self) -> list[Entry]:
        """All that waits; it waits no longer, and is the caller's to settle."""
        with self._lock:
            waiting = list(self._line)
            self._line.clear()
            self._stuck_since = None
            return waiting

    def stop(self, entry: Entry, ending: Ending | None) -> None:
        """Make its run end, and settle it; what waits is settled at once."""
        with self._lock:
            waits = entry in self._line
            if waits:
                self._line.remove(entry)
                if not self._line:
                    self._stuck_since = None
        if not waits:
            self._inner.stop(entry, ending)
            return
        if ending is None:
            self._held.drop(entry)
        self._ended(entry, ending)

    def stop_sql(self, entry: Entry) -> None:
        """Cancel the SQL that this run has under way, if it has any."""
        self._inner.stop_sql(entry)

    def close(self) -> None:
        """No more runs."""
        self._inner.close()

    def _one_ended(self, entry: Entry, ending: Ending | None) -> None:
        self._ended(entry, ending)
        self.refill()
