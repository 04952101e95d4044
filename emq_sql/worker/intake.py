"""What becomes of jobs that were just claimed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from emq_sql.worker.alone import Alone
from emq_sql.worker.chances import Chances
from emq_sql.worker.endings import Ending, Released
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Executor
from emq_sql.worker.expiry import unfit
from emq_sql.worker.held import Held
from emq_sql.worker.records import about
from emq_sql.worker.telling import tell
from emq_sql.worker.unknown import Unknown, unknown_task

log = logging.getLogger("emq_sql.worker")


class Intake:
    """Holds them and has them run, or gives them back.

    A job that has expired is not run, nor one of an unknown task: it waits, at no cost, and the log
    says so. Jobs on their last chance are found out before anything is begun, and `alone` says what
    may be begun with them.
    """

    def __init__(
        self,
        held: Held,
        executor: Executor,
        settle: Callable[[Entry, Ending], None],
        unknown: Unknown,
        chances: Chances,
        alone: Alone,
    ) -> None:
        self._held = held
        self._executor = executor
        self._settle = settle
        self._unknown = unknown
        self._chances = chances
        self._alone = alone

    def admit(self, entries: Sequence[Entry]) -> bool:
        """They run as soon as a slot is free for them; False when some were given back, lest one
        on its last chance is lost with another one.
        """
        self._held.add(entries)
        runnable = [entry for entry in entries if self._is_runnable(entry)]
        last = self._chances.last(runnable)
        back = self._alone.sort(runnable, last)
        self._say(last, back)
        for entry in runnable:
            if entry not in back:
                self._executor.submit(entry)
            elif self._held.decide(entry):
                self._settle(entry, back[entry])
        return not back

    def give_back(self, entries: Iterable[Entry]) -> None:
        """They go back to the line, unrun: they came after the claiming had ended."""
        entries = list(entries)
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

    def _say(self, last: Sequence[Entry], back: Mapping[Entry, Ending]) -> None:
        for entry in last:
            if entry not in back:
                log.info(
                    "%s was lost %d times and may not be lost again: it runs alone",
                    entry, entry.claimed.stalled, extra=about(entry.claimed),
                )  # fmt: skip
        if back:
            said = "go back to the line, since one that may not be lost again runs alone: %d jobs"
            log.info(said, len(back))

    def _is_runnable(self, entry: Entry) -> bool:
        failed = unfit(entry.claimed)
        if failed is None and entry.handler is None:
            self._unknown.met(entry)
            failed = unknown_task(entry.claimed)
        if failed is not None and self._held.decide(entry):
            self._settle(entry, failed)
        return failed is None
