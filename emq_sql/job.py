"""The data that travels between rooms: frozen, without behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

EnqueueStatus = Literal["enqueued", "scheduled", "duplicate"]
Answer = Literal["done", "lost", "busy"]
KeepAnswer = Literal["done", "lost", "busy", "cancelled"]
PutBackAnswer = Literal["pending", "scheduled", "dead", "lost", "busy"]
Outcome = Literal[
    "yours", "completed", "handed back", "cancelled", "discarded", "superseded", "dead", "unknown"
]
Decided = Outcome | Literal["busy"]
Verb = Literal["complete", "retry", "snooze"]
SettleAnswer = Literal["done", "pending", "scheduled", "dead", "busy"]

USUAL_PRIORITY = 2


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """Another job with this key is not added while this one holds it: for as long as `scope` says,
    or for `span` after the enqueue.
    """

    key: str
    scope: Literal["unfinished", "waiting", "until"] = "unfinished"
    span: timedelta | None = None  # of "until"


@dataclass(frozen=True, slots=True)
class NewJob:
    """One job to enqueue; times are the server's, `None` means the queue's setting."""

    task: str
    payload: str  # JSON text, already checked by rules.payload
    id: UUID
    priority: int = USUAL_PRIORITY
    run_at: datetime | None = None
    delay: timedelta | None = None
    max_attempts: int | None = None
    lease: timedelta | None = None
    headers: str | None = None
    unless_waiting: bool = False  # nothing is added while one of this task waits in the queue
    unique: UniqueKey | None = None


@dataclass(frozen=True, slots=True)
class NewBatch:
    """Jobs of one task for one queue, due at once, under ids that were minted for them."""

    queue: str
    task: str
    ids: Sequence[UUID]
    payloads: str  # one JSON array, in step, already checked by rules.payload
    priority: int = USUAL_PRIORITY
    max_attempts: int | None = None
    lease: timedelta | None = None
    headers: str | None = None


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The answer to an enqueue: the id, and whether it is a new job; of one that waits already, the
    id of that.
    """

    id: UUID
    status: EnqueueStatus

    @property
    def duplicate(self) -> bool:
        """True when the job of this id was there already, so that nothing was added."""
        return self.status == "duplicate"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run one job until an instant of the server's clock."""

    id: UUID
    fence: int
    attempts: int
    lease_deadline: datetime
    lease: timedelta


@dataclass(frozen=True, slots=True)
class End:
    """How a run ends in a transaction of its handler's."""

    verb: Verb
    result: str | None = None  # JSON text, of complete
    delay: timedelta | None = None  # of the others
    error: str | None = None  # of retry


@dataclass(frozen=True, slots=True)
class Claimed:
    """One claimed job with its envelope."""

    lease: Lease
    queue: str
    task: str
    payload: Mapping[str, Any]
    headers: Mapping[str, Any] | None
    stalled: int
    failures: int
    enqueued_at: datetime


@dataclass(frozen=True, slots=True)
class Reaped:
    """What one reap did: jobs put back, dead-lettered, and rows that raised."""

    recovered: int
    dead: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Maintained:
    """What one pass of maintain did; `ran` is False when another session was at it."""

    ran: bool
    promoted: int
    recovered: int
    dead: int


@dataclass(frozen=True, slots=True)
class Tidied:
    """What one step of retention did, to what; `remaining` as far as it is known.

    `did` is "nothing" when nothing is old enough, "busy" when another session is at it.
    """

    did: str
    what: str | None
    remaining: int | None

    @property
    def idle(self) -> bool:
        """Whether another step at once would be for nothing."""
        return self.did in {"nothing", "busy"}
