"""What a run knows of its lease and may do with it, wherever it runs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta
from typing import Any, Protocol

import psycopg

from emq_sql.job import Claimed, KeepAnswer
from emq_sql.worker.cancellation import Cancellation
from emq_sql.worker.endings import Snoozed
from emq_sql.worker.entry import Entry, own_transaction
from emq_sql.worker.held import Held


class Grip(Protocol):
    """The hold of one run on its lease: in its worker's process, or in a child of it.

    May be used from any thread. Only `wish`, `snooze` and `take` may wait for an answer of the
    worker, and none of them waits for the database.
    """

    @property
    def claimed(self) -> Claimed:
        """The job."""

    @property
    def cancelled(self) -> Cancellation:
        """Told when it is time to stop."""

    @property
    def lease_deadline(self) -> datetime:
        """The newest deadline known, by the server's clock; never later than the real one."""

    @property
    def lapses(self) -> float:
        """The monotonic instant at which the lease lapses unless it is extended."""

    @property
    def queue_paused(self) -> bool:
        """Whether the queue of the job was paused when a lease was last extended."""

    @property
    def decided(self) -> bool:
        """Whether this run is over: snoozed, timed out, released."""

    @property
    def lost(self) -> bool:
        """Whether the server said that the fence is stale."""

    @property
    def completing(self) -> bool:
        """Whether the handler's own completion was taken; it may not be committed."""

    @property
    def refused(self) -> bool:
        """Whether the handler's own completion was refused as stale."""

    def wish(self, lease: timedelta | None) -> Future[KeepAnswer]:
        """Have the lease extended now, by its own length or by this one: the answer to come.

        The future cannot be cancelled, and may stay without an answer: wait until `lapses`.
        """

    def snooze(self, delay: timedelta) -> bool:
        """End this run with a snooze; False when it had ended before."""

    def take(self) -> None:
        """A completion in the handler's own transaction begins: the keeper stands back."""

    def completed(self, own: psycopg.Connection[Any]) -> None:
        """It was taken, in the transaction that is open on `own`."""

    def was_refused(self) -> None:
        """It was refused as stale."""

    def put_down(self) -> None:
        """The statement of `take` has ended, in whichever way."""

    def note_refusal(self, verb: str) -> None:
        """The database refused a call of this run, and the record was rolled back with it: have it
        recorded soon.
        """


class NearGrip:
    """The grip of a run in the worker's own process."""

    __slots__ = ("_ended", "_entry", "_held")

    def __init__(self, entry: Entry, held: Held, ended: Callable[[Entry, Snoozed], None]) -> None:
        self._entry = entry
        self._held = held
        self._ended = ended

    @property
    def claimed(self) -> Claimed:
        """The job."""
        return self._entry.claimed

    @property
    def cancelled(self) -> Cancellation:
        """Told when it is time to stop."""
        return self._entry.cancelled

    @property
    def lease_deadline(self) -> datetime:
        """The newest deadline known, by the server's clock."""
        return self._entry.lease_deadline

    @property
    def lapses(self) -> float:
        """The monotonic instant at which the lease lapses unless it is extended."""
        return self._held.deadline(self._entry)

    @property
    def queue_paused(self) -> bool:
        """Whether the queue of the job was paused when a lease was last extended."""
        return self._held.pauses.paused(self._entry.claimed.queue)

    @property
    def decided(self) -> bool:
        """Whether this run is over."""
        return self._entry.decided

    @property
    def lost(self) -> bool:
        """Whether the server said that the fence is stale."""
        return self._entry.lost

    @property
    def completing(self) -> bool:
        """Whether the handler's own completion was taken."""
        return self._entry.completing

    @property
    def refused(self) -> bool:
        """Whether the handler's own completion was refused as stale."""
        return self._entry.refused

    def wish(self, lease: timedelta | None) -> Future[KeepAnswer]:
        """Have the lease extended now."""
        return self._held.wish(self._entry, lease).answer

    def snooze(self, delay: timedelta) -> bool:
        """End this run with a snooze."""
        if not self._held.decide(self._entry):
            return False
        self._ended(self._entry, Snoozed(delay))
        return True

    def take(self) -> None:
        """A completion in the handler's own transaction begins."""
        self._held.take_soon(self._entry, "handler")

    def completed(self, own: psycopg.Connection[Any]) -> None:
        """It was taken."""
        self._held.completed(self._entry, own_transaction(own))

    def was_refused(self) -> None:
        """It was refused as stale."""
        self._held.refused(self._entry)

    def put_down(self) -> None:
        """The statement of `take` has ended."""
        self._held.put_down([self._entry], "handler")

    def note_refusal(self, verb: str) -> None:
        """Have it recorded soon."""
        self._held.note_refusal(self._entry, verb)
