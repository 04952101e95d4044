"""What a handler may know and do about its own job."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future, wait
from datetime import datetime
from time import monotonic
from typing import Any
from uuid import UUID

from emq_sql.crashpoints import crash_point
from emq_sql.errors import JobFinished, LeaseBusy, LeaseLost
from emq_sql.job import KeepAnswer
from emq_sql.protocol.adapt import driver_connection
from emq_sql.rules.backoff import Seconds
from emq_sql.rules.durations import duration
from emq_sql.rules.lease import lease_length
from emq_sql.worker.cancellation import CancelReason
from emq_sql.worker.effects import Effects
from emq_sql.worker.grip import Grip

_SHORTEST_WAIT = 0.1


class Job:
    """The job that a handler runs: given to it first when it takes a context.

    May be used from any thread of the handler, until the handler has ended. What begins with `a`
    is for coroutines: only the task that awaits it waits. The others block the loop as they wait.
    """

    __slots__ = ("_effects", "_grip")

    def __init__(self, grip: Grip, effects: Effects) -> None:
        self._grip = grip
        self._effects = effects

    @property
    def id(self) -> UUID:
        """The same in every attempt."""
        return self._grip.claimed.lease.id

    @property
    def idempotency_key(self) -> str:
        """The id as text: for receivers outside this database, which may be called twice."""
        return str(self.id)

    @property
    def fence(self) -> int:
        """Grows with every claim: for other stores that can compare it and refuse the stale."""
        return self._grip.claimed.lease.fence

    @property
    def attempts(self) -> int:
        """How often the job was claimed, this time included."""
        return self._grip.claimed.lease.attempts

    @property
    def stalled(self) -> int:
        """How often a run of it was lost with its process, or its lease was, without an end."""
        return self._grip.claimed.stalled

    @property
    def failures(self) -> int:
        """How often it has failed: by an exception, or over its timeout."""
        return self._grip.claimed.failures

    @property
    def queue(self) -> str:
        """The queue it came from."""
        return self._grip.claimed.queue

    @property
    def task(self) -> str:
        """The name of its task."""
        return self._grip.claimed.task

    @property
    def headers(self) -> Mapping[str, Any]:
        """What was enqueued beside the arguments; empty when nothing was."""
        return self._grip.claimed.headers or {}

    @property
    def enqueued_at(self) -> datetime:
        """When it was enqueued, by the server's clock."""
        return self._grip.claimed.enqueued_at

    @property
    def lease_deadline(self) -> datetime:
        """The newest deadline known, by the server's clock; never later than the real one."""
        return self._grip.lease_deadline

    @property
    def queue_paused(self) -> bool:
        """True when the queue it came from was paused at the last extension of a lease."""
        return self._grip.queue_paused

    @property
    def cancelled(self) -> bool:
        """True when it is time to stop: see `cancel_reason`."""
        return self._grip.cancelled.is_set()

    @property
    def cancel_reason(self) -> CancelReason | None:
        """Why: 'lease lost' (also: not extended for its whole length), 'cancelled by an operator',
        'timed out' or 'worker stops'; None as long as the handler may go on.
        """
        return self._grip.cancelled.reason

    def wait_cancelled(self, timeout: float | None = None) -> bool:
        """Wait until `cancelled`, or `timeout` seconds; answers `cancelled`."""
        return self._grip.cancelled.wait(timeout)

    async def await_cancelled(self, timeout: float | None = None) -> bool:
        """`wait_cancelled` for coroutines."""
        return await self._grip.cancelled.await_told(timeout)

    def extend(self, lease: Seconds | None = None) -> None:
        """The lease runs from now for its own length, or for `lease` (seconds or timedelta), if
        that is later. Not needed in a long run: the worker extends leases by itself.

        Raises LeaseLost, JobFinished when the job is settled, LeaseBusy when an open transaction
        keeps the row; BadTime or BadSetting for the length.
        """
        answer = self._wish(lease)
        wait([answer], self._patience())
        self._extended(answer)

    async def aextend(self, lease: Seconds | None = None) -> None:
        """`extend` for coroutines."""
        answer = self._wish(lease)
        await asyncio.wait([asyncio.wrap_future(answer)], timeout=self._patience())
        self._extended(answer)

    def snooze(self, delay: Seconds) -> None:
        """Run again after `delay` (seconds or timedelta); no budget is used. Return after it.

        What the handler does or returns from here on is ignored. Raises JobFinished when the job is
        settled already, LeaseLost, or BadTime.
        """
        length = duration(delay, "snooze delay", allow_zero=True)
        self._must_be_open()
        if not self._grip.snooze(length):
            raise self._finished()

    def complete(self, handle: object, result: object = None) -> None:
        """Complete the job in the transaction of `handle`, which you then commit: the effects in it
        happen exactly once.

        `handle` is a SQLAlchemy Session or Connection, or a psycopg Connection, of the database
        that holds the ledger. Raises LeaseLost when another worker may hold the job by now (the
        transaction can then commit nothing), JobFinished when this run is over (timed out or
        snoozed), LeaseBusy, BadPayload or PayloadTooLarge for the result, UnsupportedHandle.
        """
        grip = self._grip
        if grip.decided:
            raise self._finished()
        crash_point("before-complete")
        grip.take()
        try:
            self._effects.complete(handle, grip.claimed.lease, result)
        except LeaseLost:
            grip.was_refused()
            raise
        else:
            grip.completed(driver_connection(handle))
        finally:
            grip.put_down()

    def _wish(self, lease: Seconds | None) -> Future[KeepAnswer]:
        length = None if lease is None else lease_length(lease)
        self._must_be_open()
        return self._grip.wish(length)

    def _patience(self) -> float:
        return max(self._grip.lapses - monotonic(), _SHORTEST_WAIT)

    def _extended(self, wish: Future[KeepAnswer]) -> None:
        answer = wish.result() if wish.done() else None
        if answer == "done":
            return
        if answer is None and monotonic() < self._grip.lapses:
            what = f"An open transaction holds the ledger row of job {self.id}."
            raise LeaseBusy(what, hint="Ask again after it has ended.")
        self._must_be_open()
        raise self._lost()

    def _must_be_open(self) -> None:
        if self._grip.decided or (self._grip.lost and self._grip.completing):
            raise self._finished()
        if self._grip.lost:
            raise self._lost()

    def _lost(self) -> LeaseLost:
        what = f"The lease of job {self.id} is lost."
        return LeaseLost(what, hint="Undo what you can and return.")

    def _finished(self) -> JobFinished:
        what = f"This run of job {self.id} is settled (completed, snoozed, timed out or released)."
        return JobFinished(what, hint="Nothing more can be done for it: roll back and return.")
