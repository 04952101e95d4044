"""Runs handlers in this process, and jobs on their last chance where no other can end them."""

from __future__ import annotations

from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Executor
from emq_sql.worker.held import Held
from emq_sql.worker.processes.apart import Apart


class Sheltered:
    """An `Executor` of the slots of `near`; the job that `Held.mark` names gets a process of its
    own.

    What kills its process then kills itself alone, and what never did is not killed by another: as
    long as such a job is held nothing else is begun in this process either, but in the processes of
    `apart`. `Alone` says when such a job may come.
    """

    def __init__(self, near: Executor, apart: Apart, held: Held) -> None:
        self._near = near
        self._apart = apart
        self._held = held

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
        if self._held.last_chance is None:
            return used
        room = max(self._apart.slots - self._apart.occupied, 0)
        return max(used, self.slots - room)

    @property
    def inside(self) -> int:
        """Runs in this process."""
        return self._near.inside

    def start(self) -> None:
        """Start what runs here; processes are started when they are needed."""
        self._near.start()

    def submit(self, entry: Entry) -> None:
        """Run it as soon as a slot is free, in this process if that harms nobody."""
        (self._near if self._held.last_chance is None else self._apart).submit(entry)

    def stop(self, entry: Entry, ending: Ending | None) -> None:
        """As the executor does that runs it."""
        if not self._apart.stops(entry, ending):
            self._near.stop(entry, ending)

    def stop_sql(self, entry: Entry) -> None:
        """As the executor does that runs it."""
        self._apart.stop_sql(entry)
        self._near.stop_sql(entry)

    def close(self) -> None:
        """Close both."""
        self._near.close()
        self._apart.close()
