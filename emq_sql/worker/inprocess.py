"""Runs handlers in the worker's own process: async ones on an event loop, the others in threads."""

from __future__ import annotations

from emq_sql.worker.effects import Effects
from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Ended
from emq_sql.worker.held import Held
from emq_sql.worker.loop import EventLoop
from emq_sql.worker.threads import Threads


class InProcess:
    """An `Executor` of `slots` slots, which threads and coroutines share."""

    def __init__(self, slots: int, held: Held, effects: Effects, ended: Ended) -> None:
        self._effects = effects
        self._loop = EventLoop(held, effects, ended)
        self._threads = Threads(slots, held, effects, ended, self._loop)

    @property
    def slots(self) -> int:
        """How many handlers may run at once."""
        return self._threads.slots

    @property
    def occupied(self) -> int:
        """Slots in use or spoken for."""
        return self._threads.occupied + self._loop.occupied

    @property
    def inside(self) -> int:
        """All of them."""
        return self.occupied

    def start(self) -> None:
        """Start the threads; the loop is started for the first that needs it."""
        self._threads.start()

    def submit(self, entry: Entry) -> None:
        """Run it as soon as a slot is free."""
        if entry.handler is not None and entry.handler.is_async:
            self._loop.submit(entry)
        else:
            self._threads.submit(entry)

    def stop(self, entry: Entry, ending: Ending | None) -> None:
        """Cancel its task and settle it when that has ended; in a thread, settle it at once."""
        if not self._loop.stop(entry, ending):
            self._threads.stop(entry, ending)

    def stop_sql(self, entry: Entry) -> None:
        """Cancel what it has under way."""
        self._effects.stop_sql(entry.lease)

    def close(self) -> None:
        """End idle threads, and the loop with what still runs on it."""
        self._threads.close()
        self._loop.close()
