"""What a handler may know and do about its own job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from time import monotonic
from typing import Any
from uuid import UUID

from emq_sql.crashpoints import crash_point
from emq_sql.errors import JobFinished, LeaseBusy, LeaseLost
from emq_sql.job import Lease
from emq_sql.protocol.adapt import driver_connection
from emq_sql.rules.backoff import Seconds
from emq_sql.rules.durations import duration
from emq_sql.rules.lease import lease_length
from emq_sql.worker.endings import Snoozed
from emq_sql.worker.entry import Entry
from emq_sql.worker.held import Held

CompleteIn = Callable[[object, str, Lease, object], None]


class Job:
    """The job that a handler runs: given to it first when it takes a context.

    May be used from any thread of the handler, until the handler has ended.
    """

    __slots__ = ("_complete_in", "_entry", "_held", "_schema", "_settle")

    def __init__(
        self,
        entry: Entry,
        held: Held,
        schema: str,
        complete_in: CompleteIn,
        settle: Callable[[Entry, Snoozed], None],
    ) -> None:
        self._entry = entry
        self._held = held
        self._schema = schema
        self._complete_in = complete_in
        self._settle = settle

    @property
    def id(self) -> UUID:
        """The same in every attempt."""
        return self._entry.lease.id

    @property
    def idempotency_key(self) -> str:
        """The id as text: for receivers outside this database, which may be called twice."""
        return str(self.id)

    @property
    def fence(self) -> int:
        """Grows with every claim: for other stores that can compare it and refuse the stale."""
        return self._entry.lease.fence

    @property
    def attempts(self) -> int:
        """How often the job was claimed, this time included."""
        return self._entry.lease.attempts

    @property
    def queue(self) -> str:
        """The queue it came from."""
        return self._entry.claimed.queue

    @property
    def task(self) -> str:
        """The name of its task."""
        return self._entry.claimed.task

    @property
    def headers(self) -> Mapping[str, Any]:
        """What was enqueued beside the arguments; empty when nothing was."""
        return self._entry.claimed.headers or {}

    @property
    def enqueued_at(self) -> datetime:
        """When it was enqueued, by the server's clock."""
        return self._entry.claimed.enqueued_at

    @property
    def lease_deadline(self) -> datetime:
        """The newest deadline known, by the server's clock; never later than the real one."""
        return self._entry.lease_deadline

    @property
    def cancelled(self) -> bool:
        """True when it is time to stop: the lease is lost, time is up, or the worker must end."""
        return self._entry.cancelled.is_set()

    def wait_cancelled(self, timeout: float | None = None) -> bool:
        """Wait until `cancelled`, or `timeout` seconds; answers `cancelled`."""
        return self._entry.cancelled.wait(timeout)

    def extend(self, lease: Seconds | None = None) -> None:
        """The lease runs from now for its own length, or for `lease` (seconds or timedelta), if
        that is later. Not needed in a long run: the worker extends leases by itself.

        Raises LeaseLost, JobFinished when the job is settled, LeaseBusy when an open transaction
        keeps the row; BadTime or BadSetting for the length.
        """
        length = None if lease is None else lease_length(lease)
        self._must_be_open()
        ask, lapses = self._held.wish(self._entry, length)
        ask.answered.wait(max(lapses - monotonic(), 0.1))
        if ask.answer == "done":
            return
        if ask.answer is None and monotonic() < self._held.deadline(self._entry):
            what = f"An open transaction holds the ledger row of job {self.id}."
            raise LeaseBusy(what, hint="Ask again after it has ended.")
        raise LeaseLost(
            f"The lease of job {self.id} is lost.", hint="Undo what you can and return."
        )

    def snooze(self, delay: Seconds) -> None:
        """Run again after `delay` (seconds or timedelta); no budget is used. Return after it.

        What the handler does or returns from here on is ignored. Raises JobFinished when the job is
        settled already, LeaseLost, or BadTime.
        """
        length = duration(delay, "snooze delay", allow_zero=True)
        self._must_be_open()
        if not self._held.decide(self._entry):
            raise self._finished()
        self._settle(self._entry, Snoozed(length))

    def complete(self, handle: object, result: object = None) -> None:
        """Complete the job in the transaction of `handle`, which you then commit: the effects in it
        happen exactly once.

        `handle` is a SQLAlchemy Session or Connection, or a psycopg Connection, of the database
        that holds the ledger. Raises LeaseLost when another worker may hold the job by now (the
        transaction can then commit nothing), JobFinished when this run is over (timed out or
        snoozed), LeaseBusy, BadPayload or PayloadTooLarge for the result, UnsupportedHandle.
        """
        if self._entry.decided:
            raise self._finished()
        crash_point("before-complete")
        self._held.take_soon(self._entry, "handler")
        try:
            self._complete_in(handle, self._schema, self._entry.lease, result)
        except LeaseLost:
            self._held.refused(self._entry)
            raise
        else:
            self._held.completed(self._entry, driver_connection(handle))
        finally:
            self._held.put_down([self._entry], "handler")

    def _must_be_open(self) -> None:
        if self._entry.decided or (self._entry.lost and self._entry.completing):
            raise self._finished()
        if self._entry.lost:
            what = f"The lease of job {self.id} is lost."
            raise LeaseLost(what, hint="Undo what you can and return.")

    def _finished(self) -> JobFinished:
        what = f"This run of job {self.id} is settled (completed, snoozed, timed out or released)."
        return JobFinished(what, hint="Nothing more can be done for it: roll back and return.")
