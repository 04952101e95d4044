"""The settings of a worker, refused when they cannot work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from emq_sql.errors import BadName, BadSetting, BadTime
from emq_sql.rules.durations import duration
from emq_sql.rules.lease import lease_length
from emq_sql.rules.names import queue_name

MOST_SLOTS = 1000
SHORTEST_POLL = timedelta(milliseconds=10)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Which queues, how many handlers at once, and how patient.

    `poll` is the time between two looks into a queue that was empty; `grace` how long handlers may
    run on after the first SIGTERM; `burst` ends the worker when its queues are empty; `lease` is
    for jobs that name none, in place of the queue's. Raises BadSetting, saying what to change.
    """

    queues: tuple[str, ...]
    concurrency: int = 4
    poll: timedelta = timedelta(seconds=1)
    grace: timedelta = timedelta(seconds=30)
    burst: bool = False
    lease: timedelta | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        self._check_queues()
        if isinstance(self.concurrency, bool) or not isinstance(self.concurrency, int):
            what = f"concurrency must be a whole number, not {type(self.concurrency).__name__}."
            raise BadSetting(what, hint="Give the number of handlers that may run at once.")
        if not 1 <= self.concurrency <= MOST_SLOTS:
            what = f"concurrency is {self.concurrency}; a worker has 1 to {MOST_SLOTS} slots."
            raise BadSetting(what, hint="For more, start more workers.")
        try:
            duration(self.poll, "poll")
            duration(self.grace, "grace", allow_zero=True)
            if self.lease is not None:
                lease_length(self.lease)
        except BadTime as error:
            raise BadSetting(error.what, hint=error.hint) from error
        if self.poll < SHORTEST_POLL:
            what = f"poll is {self.poll.total_seconds():g} s, which would keep the database busy."
            hint = f"Set it to {SHORTEST_POLL.total_seconds():g} s or more; one second suits most."
            raise BadSetting(what, hint=hint)

    def _check_queues(self) -> None:
        if isinstance(self.queues, str) or not self.queues:
            what = "A worker needs a tuple of at least one queue."
            raise BadSetting(what, hint="Name its queues, for example ('default',).")
        try:
            for queue in self.queues:
                queue_name(queue)
        except BadName as error:
            raise BadSetting(error.what, hint=error.hint) from error
        if len(set(self.queues)) != len(self.queues):
            what = f"A queue is named twice: {', '.join(self.queues)}."
            raise BadSetting(what, hint="Name each queue once.")
