"""The settings of a worker, refused when they cannot work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from emq_sql.errors import BadName, BadSetting, BadTime
from emq_sql.rules.durations import duration
from emq_sql.rules.lease import USUAL, extend_interval, lease_length
from emq_sql.rules.names import queue_name

USUAL_SLOTS = 4
MOST_SLOTS = 1000
MOST_PROCESSES = 256
MOST_PREFETCH = 5000
SHORTEST_POLL = timedelta(milliseconds=10)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Which queues, how many jobs at once, and how patient.

    `concurrency` is the number of slots for handlers in this process, 4 when left out; `processes`
    that of child processes with one job each, in its place; a child is replaced after
    `max_jobs_per_child` jobs, if that is set. `prefetch` is how many jobs more may be claimed than
    there are slots, to wait here: for jobs of milliseconds. `poll` is the time between two looks
    into a queue that was empty; `grace` how long handlers may run on after the first SIGTERM;
    `burst` ends the worker when its queues are empty; `lease` is for jobs that name none, in
    place of the queue's; `extend` extends leases more often than at each third of `lease`, or of
    the usual lease where none is set; jobs with shorter leases keep to a third of theirs. Raises
    BadSetting, saying what to change.
    """

    queues: tuple[str, ...]
    concurrency: int | None = None
    poll: timedelta = timedelta(seconds=1)
    grace: timedelta = timedelta(seconds=30)
    burst: bool = False
    lease: timedelta | None = None
    processes: int | None = None
    extend: timedelta | None = None
    max_jobs_per_child: int | None = None
    prefetch: int = 0

    @property
    def slots(self) -> int:
        """How many jobs may run at once."""
        return self.processes or self.concurrency or USUAL_SLOTS

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        self._check_queues()
        _check_count("concurrency", self.concurrency, MOST_SLOTS, "slots")
        _check_count("processes", self.processes, MOST_PROCESSES, "child processes")
        if self.processes is not None and self.concurrency is not None:
            what = f"processes ({self.processes}) and concurrency ({self.concurrency}) are both set"
            raise BadSetting(
                f"{what}, and each child process runs one job at a time.",
                hint="Leave concurrency out for processes, or processes out for threads.",
            )
        self._check_max_jobs()
        self._check_prefetch()
        try:
            self._check_durations()
        except BadTime as error:
            raise BadSetting(error.what, hint=error.hint) from error

    def _check_max_jobs(self) -> None:
        most = self.max_jobs_per_child
        if most is None:
            return
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            what = f"max_jobs_per_child is {most!r}; a child runs one job at least."
            raise BadSetting(what, hint="Give a whole number, or leave it out.")
        if self.processes is None:
            what = f"max_jobs_per_child is {most}, and this worker has no child processes."
            raise BadSetting(what, hint="Set processes too, or leave it out.")

    def _check_prefetch(self) -> None:
        ahead = self.prefetch
        if isinstance(ahead, bool) or not isinstance(ahead, int):
            what = f"prefetch must be a whole number, not {type(ahead).__name__}."
            raise BadSetting(what, hint="Give the number of jobs that may wait in the worker.")
        if not 0 <= ahead <= MOST_PREFETCH:
            what = f"prefetch is {ahead}; 0 to {MOST_PREFETCH} jobs may wait in a worker."
            raise BadSetting(what, hint="What its slots do in a tenth of a second is plenty.")

    def _check_durations(self) -> None:
        duration(self.poll, "poll")
        duration(self.grace, "grace", allow_zero=True)
        if self.lease is not None:
            lease_length(self.lease)
        if self.extend is not None:
            self._check_extend(duration(self.extend, "extend interval"))
        if self.poll < SHORTEST_POLL:
            what = f"poll is {self.poll.total_seconds():g} s, which would keep the database busy."
            hint = f"Set it to {SHORTEST_POLL.total_seconds():g} s or more; one second suits most."
            raise BadSetting(what, hint=hint)

    def _check_extend(self, extend: timedelta) -> None:
        if self.lease is None and extend > USUAL / 3:
            raise BadSetting(
                f"The extend interval ({extend.total_seconds():g} s) is over a third of the usual"
                f" lease ({USUAL.total_seconds():g} s); a lease of {3 * extend.total_seconds():g} s"
                " or more would fit, and none is set.",
                hint="Set the lease too, make the interval shorter, or leave it out.",
            )
        extend_interval(self.lease or USUAL, extend)

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


def _check_count(setting: str, value: object, most: int, noun: str) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        what = f"{setting} must be a whole number, not {type(value).__name__}."
        raise BadSetting(what, hint="Give the number of jobs that may run at once.")
    if not 1 <= value <= most:
        what = f"{setting} is {value}; a worker has 1 to {most} {noun}."
        raise BadSetting(what, hint="For more, start more workers.")
