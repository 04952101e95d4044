"""What becomes of jobs that were just claimed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from emq_sql.rules import backoff
from emq_sql.worker.endings import Ending, Released, Snoozed
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Executor
from emq_sql.worker.held import Held
from emq_sql.worker.records import about
from emq_sql.worker.telling import tell
from emq_sql.worker.unknown import Unknown

log = logging.getLogger("emq_sql.worker")


class Intake:
    """Holds them and has them run, or gives them back.

    A job of an unknown task is snoozed with a growing delay, at no cost, and the log says so.
    """

    def __init__(
        self,
        held: Held,
        executor: Executor,
        settle: Callable[[Entry, Ending], None],
        unknown: Unknown,
    ) -> None:
        self._held = held
        self._executor = executor
        self._settle = settle
        self._unknown = unknown

    def admit(self, entries: Sequence[Entry]) -> None:
        """They run as soon as a slot is free for them."""
        self._held.add(entries)
        for entry in entries:
            if entry.handler is not None:
                self._executor.submit(entry)
            elif self._held.decide(entry):
                self._unknown.met(entry)
                delay = backoff.unknown_task_delay(entry.lease.attempts)
                self._settle(entry, Snoozed(delay))

    def give_back(self, entries: Sequence[Entry]) -> None:
        """They go back to the line, unrun: they came after the claiming had ended."""
        self._held.add(entries)
        for entry in entries:
            self.release(entry)

    def release(self, entry: Entry) -> None:
        """It goes back to the line at no cost, and its handler, if it runs, is told."""
        if self._held.decide(entry):
            tell(entry, "worker stops", "it is released")
            try:
                self._executor.stop(entry, Released())
            except Exception:
                # Whatever it runs, the job goes back: its fence keeps a late end from counting.
                log.exception("%s could not be stopped", entry, extra=about(entry.claimed))
                self._settle(entry, Released())
