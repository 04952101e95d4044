"""Runs handlers in this process, and jobs on their last chance where no other can end them."""

from __future__ import annotations

import threading
from time import monotonic

from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Executor
from emq_sql.worker.held import Held
from emq_sql.worker.processes.apart import Apart

CALM_PATIENCE = 5.0  # seconds for the handlers in this process to end


class Sheltered:
    """An `Executor` of the slots of `near`; a job that `Held.mark` names gets a process of its own.

    What kills its process then kills itself alone, and what never did is not killed by another: as
    long as such a job is held nothing else is begun in this process either, but in the processes of
    `apart`. Handlers that run here when such a job comes may still end this process, so it is given
    back (`has_room`), and nothing is claimed before they have ended or the patience has: then they
    have proved to be no quick killers.
    """

    def __init__(
        self, near: Executor, apart: Apart, held: Held, patience: float = CALM_PATIENCE
    ) -> None:
        self._near = near
        self._apart = apart
        self._held = held
        self._patience = patience
        self._lock = threading.Lock()
        self._waits_since: float | None = None

    @property
    def slots(self) -> int:
        """How many handlers may run at once."""
        return self._near.slots

    @property
    def occupied(self) -> int:
        """Slots in use or spoken for; those too for which there is no process while none may run
        here.
        """
        used = self._near.occupied + self._apart.occupied
        if not self._held.careful:
            return used
        room = max(self._apart.slots - self._apart.occupied, 0)
        return max(used, self.slots - room)

    def has_room(self) -> bool:
        """Whether a job on its last chance may stay: no handler runs in this process, or has run
        for so long that nobody waits for it any more. If not, the waiting begins.
        """
        with self._lock:
            if not self._near.occupied:
                self._waits_since = None
            elif self._waits_since is None:
                self._waits_since = monotonic()
            return self._waits_since is None or not self._waits()

    def waits_until(self) -> float | None:
        """The monotonic instant until which nothing should be claimed, unless the handlers in this
        process end before; None when nobody waits for them.
        """
        with self._lock:
            if self._waits_since is None:
                return None
            if not self._near.occupied:
                self._waits_since = None
                return None
            return self._waits_since + self._patience if self._waits() else None

    def start(self) -> None:
        """Start what runs here; processes are started when they are needed."""
        self._near.start()

    def submit(self, entry: Entry) -> None:
        """Run it as soon as a slot is free, in this process if that harms nobody."""
        if self._held.careful or self.waits_until() is not None:
            self._apart.submit(entry)
            return
        with self._lock:
            self._waits_since = None  # this one has proved nothing yet
        self._near.submit(entry)

    def stop(self, entry: Entry, ending: Ending | None) -> None:
        """As the executor does that runs it."""
        if not self._apart.stops(entry, ending):
            self._near.stop(entry, ending)

    def close(self) -> None:
        """Close both."""
        self._near.close()
        self._apart.close()

    def _waits(self) -> bool:
        since = self._waits_since
        return since is not None and monotonic() < since + self._patience
