"""Which queue is asked next, for how many jobs, and what becomes of a claim without an answer."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

import psycopg

from emq_sql.job import Claimed
from emq_sql.protocol import claiming
from emq_sql.rules.lease import NONCE_BITS
from emq_sql.worker.bell import Bell
from emq_sql.worker.entry import Entry
from emq_sql.worker.handler import Handler
from emq_sql.worker.parking import Parking
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.turns import Turns

# A claim whose answer was lost may commit after the first question. Seconds after it was sent.
_READ_BACK = (0.0, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True, slots=True)
class Request:
    """One claim call: its nonce is drawn for it alone. `sent` is of the monotonic clock."""

    queues: tuple[str, ...]
    n: int
    nonce: int
    sent: float


@dataclass(slots=True)
class _Doubt:
    request: Request
    reads: int
    due: float


class Claimer:
    """Asks the queues in turn, all that are due with one statement.

    While `bell` is one that is heard, it is told which queues were found empty, and they are asked
    again after a poll; else they are asked sooner, by and by.
    """

    def __init__(
        self, settings: WorkerSettings, schema: str, handlers: Mapping[str, Handler]
    ) -> None:
        self.bell: Bell | None = None
        self._settings = settings
        self._schema = schema
        self._handlers = handlers
        self._turns = Turns(settings.queues, settings.poll)
        self._parking = Parking(self._park)
        self._doubts: list[_Doubt] = []

    def rung(self, queue: str | None) -> None:
        """Somebody says that there are jobs in this queue (None: perhaps in any)."""
        self._turns.rung(queue)

    def hold_back(self, paused: Mapping[str, float]) -> None:
        """These were paused when it was asked at these instants: no claim for a poll from there."""
        self._turns.hold_back(paused)

    def next(self, free: int, now: float, *, along: bool) -> Request | None:
        """The claim to send now. `along` with a completion every queue is worth a question."""
        self._parking.look(now, room=free > 0)
        if free < 1:
            return None
        queues = self._turns.along(now) if along else self._turns.due(now)
        if not queues:
            return None
        return Request(queues, free, secrets.randbits(NONCE_BITS), monotonic())

    def send(
        self, connection: psycopg.Connection[Any], request: Request, worker: str
    ) -> list[Claimed]:
        """Claim."""
        rest = request.n, worker, request.nonce, self._settings.lease
        if len(request.queues) == 1:
            return claiming.claim(connection, self._schema, request.queues[0], *rest)
        return claiming.claim_any(connection, self._schema, request.queues, *rest)

    def answered(self, request: Request, claimed: list[Claimed]) -> list[Entry]:
        """What was claimed, as entries; a queue is asked again when it is worth it."""
        now = monotonic()
        heard = self.bell is not None and self.bell.heard
        gave = Counter(job.queue for job in claimed)
        drained, full = self._turns.answered(request.queues, request.n, gave, now, heard=heard)
        self._parking.drained(drained)
        if full is not None:
            self._parking.filled(full, now)
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
        dues = [self._parking.due, *(doubt.due for doubt in self._doubts)]
        if claiming:
            dues.append(self._turns.next_due)
        return min(dues)

    @property
    def all_empty(self) -> bool:
        """Whether each queue had nothing when it was last asked."""
        return self._turns.all_empty and not self._doubts

    def _park(self, queues: frozenset[str]) -> None:
        if self.bell is not None:
            self.bell.park(queues)

    def _entries(self, request: Request, claimed: list[Claimed]) -> list[Entry]:
        now, extend = monotonic(), self._settings.extend
        return [
            Entry(job, self._handlers.get(job.task), request.sent, now, extend) for job in claimed
        ]
