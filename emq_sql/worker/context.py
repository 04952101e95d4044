"""What a handler may know and do about its own job."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future, wait
from datetime import datetime
from time import monotonic
from typing import Any
from uuid import UUID

from emq_sql.errors import LeaseBusy, LeaseLost
from emq_sql.job import KeepAnswer
from emq_sql.rules.backoff import Seconds
from emq_sql.rules.lease import lease_length
from emq_sql.worker.cancellation import CancelReason
from emq_sql.worker.ends import Ends
from emq_sql.worker.standing import lost, must_be_open

_SHORTEST_WAIT = 0.1


class Job(Ends):
    """The job that a handler runs: given to it first when it takes a context.

    May be used from any thread of the handler, until the handler has ended. What begins with `a`
    is for coroutines: only the task that awaits it waits. The others block the loop as they wait.
    """

    __slots__ = ()

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

    def guard(self, handle: object) -> None:
        """Hold the job to the end of the transaction of `handle`: until then nobody else gets it,
        and what is committed was written by its holder.

        Commits of SQLAlchemy's are guarded without it: it is for a psycopg connection, and for a
        long transaction that had better find out before its work. `handle` is a Session or
        Connection of SQLAlchemy's or a psycopg Connection, of the ledger's database; of an
        asynchronous session: `await session.run_sync(job.guard)`. Raises LeaseLost (JobFinished
        when the job is settled), and the transaction can commit nothing; LeaseBusy when it is being
        settled in another one; UnsupportedHandle, also in autocommit.
        """
        try:
            self._effects.guard(handle, self._grip.claimed.lease)
        except LeaseLost:
            self._grip.note_refusal("guard")
            raise

    def _wish(self, lease: Seconds | None) -> Future[KeepAnswer]:
        length = None if lease is None else lease_length(lease)
        must_be_open(self._grip)
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
        must_be_open(self._grip)
        raise lost(self.id)
