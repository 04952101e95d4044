"""An executor without a database, for tests of what handlers may do to it."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from emq_sql.effects.effects import DatabaseEffects
from emq_sql.worker.cancellation import CancelReason
from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.handler import Handler
from emq_sql.worker.held import Held
from emq_sql.worker.inprocess import InProcess
from tests.worker.making import entry


class Room:
    """An executor, and the endings that it told."""

    def __init__(self, slots: int = 1) -> None:
        self.held = Held()
        self.endings: SimpleQueue[tuple[Entry, Ending | None]] = SimpleQueue()
        self.executor = InProcess(
            slots,
            self.held,
            DatabaseEffects("emq"),
            lambda e, ending: self.endings.put((e, ending)),
        )  # fmt: skip
        self.executor.start()

    def submit(self, function: Callable[..., Any], payload: Any = None, **given: Any) -> Entry:
        job = entry(Handler("t", function, **given), payload)
        self.held.add([job])
        self.executor.submit(job)
        return job

    def ended(self) -> tuple[Entry, Ending | None]:
        """The next one that was told."""
        return self.endings.get(timeout=20)

    def run(self, function: Callable[..., Any], payload: Any = None, **given: Any) -> Any:
        job = self.submit(function, payload, **given)
        ended, ending = self.ended()
        assert ended is job
        return ending

    def stop(self, job: Entry, ending: Ending, reason: CancelReason = "worker stops") -> None:
        """As the worker does it."""
        assert self.held.decide(job)
        job.cancelled.tell(reason)
        self.executor.stop(job, ending)
