"""One held job as its worker knows it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

import psycopg
from psycopg.pq import TransactionStatus

from emq_sql.job import Claimed, KeepAnswer, Lease, Verb
from emq_sql.rules.lease import lapses_at, next_due, usual_interval
from emq_sql.rules.printable import on_one_line
from emq_sql.worker.cancellation import Cancellation
from emq_sql.worker.handler import Handler

Hands = Literal["keeper", "settler", "handler"]
IsOpen = Callable[[], bool]


def _unanswered() -> Future[KeepAnswer]:
    answer: Future[KeepAnswer] = Future()
    answer.set_running_or_notify_cancel()  # of those who wait for it none can cancel it
    return answer


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """A handler's wish to have its lease extended now, and the answer to it."""

    lease: timedelta | None
    answer: Future[KeepAnswer] = field(default_factory=_unanswered)


def own_transaction(connection: Any) -> IsOpen:
    """Whether the transaction on this connection of psycopg's or asyncpg's seems not to have ended;
    keeps no hold of it.
    """
    known = weakref.ref(connection)

    def is_open() -> bool:
        alive = known()
        if alive is None:
            return False
        if not isinstance(alive, psycopg.Connection | psycopg.AsyncConnection):
            return not alive.is_closed() and bool(alive.is_in_transaction())
        return alive.info.transaction_status in {
            TransactionStatus.INTRANS,
            TransactionStatus.ACTIVE,
        }

    return is_open


class Entry:
    """A claimed job from its claim to its settlement. Everything mutable is guarded by `Held`.

    Instants are of the monotonic clock. `extended_at` is when the claim, or the last extension
    that committed, was *sent*: the server's lease began later, so it is never thought longer.
    Extensions come at a third of the lease, or each `extend` if that is sooner.
    """

    __slots__ = (
        "ask", "busy_until", "cancelled", "claimed", "completing", "decided", "extended_at",
        "handler", "hands", "hands_since", "interval", "known_at", "lapsed", "lapses",
        "lease_deadline", "lost", "own", "refused", "settled", "timeout_at",
        "verb",
    )  # fmt: skip

    def __init__(
        self, claimed: Claimed, handler: Handler | None, sent: float, answered: float,
        extend: timedelta | None = None,
    ) -> None:  # fmt: skip
        self.claimed = claimed
        self.handler = handler
        self.interval = usual_interval(claimed.lease.lease, extend)
        self.extended_at = sent
        self.known_at = answered
        self.lapses = lapses_at(sent, claimed.lease.lease)
        self.lease_deadline = claimed.lease.lease_deadline
        self.timeout_at: float | None = None
        self.busy_until = 0.0
        self.ask: Ask | None = None
        self.hands: Hands | None = None
        self.hands_since = 0.0
        self.cancelled = Cancellation()
        self.decided = False  # how it ends is settled, whatever the handler does from now on
        self.completing = False  # the handler completed it, or put it back, in its own transaction
        self.verb: Verb = "complete"  # what it did there
        self.own: IsOpen | None = None  # whether that transaction is still open
        self.settled = False  # that transaction is known to have committed
        self.refused = False  # the server refused that completion
        self.lapsed = False  # no extension came in time
        self.lost = False  # the server said that the fence is stale

    @property
    def lease(self) -> Lease:
        """The lease as it was claimed: id, fence, attempts."""
        return self.claimed.lease

    def extension_due(self) -> float:
        """When the next extension is to be sent."""
        if self.ask is not None:
            return self.busy_until
        due = next_due(self.extended_at, self.interval)
        return max(due, self.busy_until)

    def extended(self, sent: float, lease: timedelta) -> None:
        """An extension by `lease`, sent at `sent`, has committed."""
        self.lapses = max(self.lapses, lapses_at(sent, lease))
        self.extended_at = sent
        # The server's clock when it was sent is at least that of the claim and the time since its
        # answer; so the deadline is at least this.
        began = self.claimed.lease.lease_deadline - self.claimed.lease.lease
        known: datetime = began + timedelta(seconds=sent - self.known_at) + lease
        self.lease_deadline = max(self.lease_deadline, known)

    def own_is_open(self) -> bool:
        """Whether the transaction in which the handler completed it seems not to have ended."""
        return self.own is not None and self.own()

    def __str__(self) -> str:
        """How log lines name it."""
        task = on_one_line(self.claimed.task)  # SQL takes any text for a name
        return f"job {self.lease.id} ({task}, attempt {self.lease.attempts})"
