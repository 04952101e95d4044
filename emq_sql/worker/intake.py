"""What becomes of jobs that were just claimed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import monotonic

from emq_sql.rules import backoff
from emq_sql.worker.endings import Ending, Released, Snoozed
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Executor
from emq_sql.worker.held import Held
from emq_sql.worker.pulse import Pulse
from emq_sql.worker.records import about
from emq_sql.worker.telling import tell

log = logging.getLogger("emq_sql.worker")

UNKNOWN_TASK_SAID_EVERY = 60.0


class Intake:
    """Holds them and has them run, or gives them back.

    A job of an unknown task is snoozed with a growing delay, at no cost, and the log says so once a
    minute for each task.
    """

    def __init__(
        self,
        held: Held,
        executor: Executor,
        settle: Callable[[Entry, Ending], None],
        pulse: Pulse,
    ) -> None:
        self._held = held
        self._executor = executor
        self._settle = settle
        self._pulse = pulse
        self._said: dict[str, float] = {}

    def admit(self, entries: Sequence[Entry]) -> None:
        """They run as soon as a slot is free for them."""
        self._held.add(entries)
        for entry in entries:
            if entry.handler is not None:
                self._executor.submit(entry)
            elif self._held.decide(entry):
                self._say_unknown(entry)
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
            self._executor.stop(entry, Released())

    def _say_unknown(self, entry: Entry) -> None:
        task, now = entry.claimed.task, monotonic()
        self._pulse.knows_not(task)
        if now >= self._said.get(task, 0.0):
            # Anybody may enqueue any name: they are not kept for ever.
            self._said = {name: until for name, until in self._said.items() if until > now}
            self._said[task] = now + UNKNOWN_TASK_SAID_EVERY
            log.error(
                "%s: this worker knows no task %r; its jobs are snoozed at no cost until one does",
                entry, task, extra=about(entry.claimed),
            )  # fmt: skip
