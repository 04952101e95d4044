"""Child processes that are there only when they are needed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Ended
from emq_sql.worker.held import Held
from emq_sql.worker.processes.pool import Host, Processes
from emq_sql.worker.records import about

log = logging.getLogger("emq_sql.worker.children")

MOST = 4  # processes at once: each imports the application
REST = 30.0  # seconds without a job after which one is let go


class Apart(Processes):
    """As `Processes`, but a child is started for a job that waits, and ends after a rest.

    `instead(entry)` gets what waits when no child can be started: a job is not held up for ever,
    nor is the worker ended over it.
    """

    def __init__(
        self, argv: Sequence[str], slots: int, held: Held, ended: Ended,
        host: Callable[[], Host], instead: Callable[[Entry], None], rest: float = REST,
    ) -> None:  # fmt: skip
        super().__init__(argv, slots, held, ended, host, rest=rest)
        self._instead = instead
        self._starting = threading.Lock()
        self._started = False

    @property
    def occupied(self) -> int:
        """Slots in use or spoken for."""
        return super().occupied if self._started else 0  # asked with each job, and hardly ever used

    def start(self) -> None:
        """Nothing yet."""

    def submit(self, entry: Entry) -> None:
        """Run it as soon as a child is free, or was started for it."""
        with self._starting:
            if not self._started:
                super().start()
                self._started = True
        super().submit(entry)

    def stops(self, entry: Entry, ending: Ending | None) -> bool:
        """`stop`, if it is here; else False."""
        where = self._stop(entry, ending)
        if where == "waiting":
            self._settle_unrun(entry, ending)
        return where != "nowhere"

    def close(self) -> None:
        """End what was started."""
        if self._started:
            super().close()

    def _give_up(self, reason: str) -> None:
        why = reason.splitlines()[0]
        for entry in self._board.take_line():
            log.error(
                "%s runs among the others: no process can be started for it, the last one %s",
                entry, why, extra=about(entry.claimed),
            )  # fmt: skip
            self._instead(entry)
