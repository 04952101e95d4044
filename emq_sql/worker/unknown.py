"""Tasks that are not known here."""

from __future__ import annotations

import logging
import threading
from time import monotonic

from emq_sql.job import Claimed
from emq_sql.rules.backoff import unknown_task_delay
from emq_sql.rules.verdict import Failed, gave_up
from emq_sql.worker.entry import Entry
from emq_sql.worker.pulse import Pulse
from emq_sql.worker.records import about

log = logging.getLogger("emq_sql.worker")

SAID_EVERY = 60.0


class Unknown:
    """Counts the jobs of unknown tasks, and the log says so once a minute for each task.

    May be called from any thread.
    """

    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse
        self._lock = threading.Lock()
        self._said: dict[tuple[str, str], float] = {}

    def met(self, entry: Entry, who: str = "this worker") -> None:
        """`who` knows no task of this name."""
        task, now = entry.claimed.task, monotonic()
        with self._lock:
            self._pulse.knows_not(task)
            if now < self._said.get((who, task), 0.0):
                return
            # Anybody may enqueue any name: they are not kept for ever.
            self._said = {said: until for said, until in self._said.items() if until > now}
            self._said[who, task] = now + SAID_EVERY
        log.error(
            "%s: %s knows no task %r; its jobs are snoozed at no cost until one does",
            entry, who, task, extra=about(entry.claimed),
        )  # fmt: skip


def unknown_task(claimed: Claimed, who: str = "The worker that claimed it") -> Failed:
    """How such a job ends: it waits, each time for longer, and the database says until when."""
    what = f"{who} knows no task {claimed.task!r}. Deploy code that has it, then replay the job."
    return gave_up(what, "no handler", unknown_task_delay(claimed.lease.attempts))
