"""Which queue is asked next, for how many jobs, and what becomes of a claim without an answer."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

import psycopg

from emq_sql.job import Claimed
from emq_sql.protocol import claiming
from emq_sql.protocol.patience import Patience
from emq_sql.rules.lease import NONCE_BITS
from emq_sql.worker.entry import Entry
from emq_sql.worker.handler import Handler
from emq_sql.worker.settings import WorkerSettings

# A claim whose answer was lost may commit after the first question. Seconds after it was sent.
_READ_BACK = (0.0, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True, slots=True)
class Request:
    """One claim call: its nonce is drawn for it alone. `sent` is of the monotonic clock."""

    queue: str
    n: int
    nonce: int
    sent: float


@dataclass(slots=True)
class _Doubt:
    request: Request
    reads: int
    due: float


class Claimer:
    """Round robin over the queues, so that a full one starves no other."""

    def __init__(
        self, settings: WorkerSettings, schema: str, handlers: Mapping[str, Handler]
    ) -> None:
        self._settings = settings
        self._schema = schema
        self._handlers = handlers
        self._patience = Patience()
        self._order = list(settings.queues)
        self._due = dict.fromkeys(settings.queues, 0.0)
        self._not_before: dict[str, float] = {}
        self._empty: set[str] = set()
        self._doubts: list[_Doubt] = []

    def rung(self, queue: str | None) -> None:
        """Somebody says that there are jobs in this queue (None: perhaps in any)."""
        for name in self._due if queue is None else self._due.keys() & {queue}:
            self._due[name] = 0.0
            self._empty.discard(name)

    def hold_back(self, paused: Mapping[str, float]) -> None:
        """These were paused when it was asked at these instants: no claim for a poll from there."""
        poll = self._settings.poll.total_seconds()
        self._not_before = {queue: at + poll for queue, at in paused.items()}

    def next(self, free: int, now: float, *, along: bool) -> Request | None:
        """The claim to send now. `along` with a completion every queue is worth a question."""
        if free < 1:
            return None
        for place, queue in enumerate(self._order):
            if self._not_before.get(queue, now) > now:
                continue
            if along or self._due[queue] <= now:
                self._order = [*self._order[place + 1 :], *self._order[: place + 1]]
                return Request(queue, free, secrets.randbits(NONCE_BITS), monotonic())
        return None

    def send(
        self, connection: psycopg.Connection[Any], request: Request, worker: str
    ) -> list[Claimed]:
        """Claim."""
        lease = self._settings.lease
        return claiming.claim(
            connection, self._schema, request.queue, request.n, worker, request.nonce, lease
        )  # fmt: skip

    def answered(self, request: Request, claimed: list[Claimed]) -> list[Entry]:
        """What was claimed, as entries; the queue is asked again when it is worth it."""
        if len(claimed) < request.n:
            self._due[request.queue] = monotonic() + self._patience.jittered(self._settings.poll)
        else:
            self._due[request.queue] = 0.0
        self._empty.discard(request.queue)
        if not claimed:
            self._empty.add(request.queue)
        return self._entries(request, claimed)

    def doubt(self, request: Request) -> None:
        """The answer to this claim was lost: it will be read back by its nonce."""
        self._doubts.append(_Doubt(request, 0, 0.0))

    @property
    def doubts(self) -> int:
        """Claims that may still turn out to have committed."""
        return len(self._doubts)

    @property
    def unread(self) -> bool:
        """Whether there is one that the database could not even be asked about."""
        return any(doubt.reads == 0 for doubt in self._doubts)

    def read_back(self, call: Callable[..., list[Claimed]], now: float) -> list[Entry]:
        """What lost claims hold, if anything yet: so no job waits out a lease that nobody has."""
        found: list[Entry] = []
        for doubt in [doubt for doubt in self._doubts if doubt.due <= now]:
            nonce = doubt.request.nonce
            claimed = call(lambda conn, nonce=nonce: claiming.claimed(conn, self._schema, nonce))
            doubt.reads += 1
            if claimed or doubt.reads == len(_READ_BACK):
                self._doubts.remove(doubt)
                found += self._entries(doubt.request, claimed)
            else:
                doubt.due = now + _READ_BACK[doubt.reads]
        return found

    def next_due(self, *, claiming: bool) -> float:
        """The monotonic instant of the next question, if slots are free."""
        dues = [doubt.due for doubt in self._doubts]
        if claiming:
            dues += [max(due, self._not_before.get(q, due)) for q, due in self._due.items()]
        return min(dues, default=float("inf"))

    @property
    def all_empty(self) -> bool:
        """Whether each queue had nothing when it was last asked."""
        return len(self._empty) == len(self._due) and not self._doubts

    def _entries(self, request: Request, claimed: list[Claimed]) -> list[Entry]:
        now, extend = monotonic(), self._settings.extend
        return [
            Entry(job, self._handlers.get(job.task), request.sent, now, extend) for job in claimed
        ]
