"""What the demo sees of its ledger while it runs, and what it remembers of the faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from emq_sql.demo.crew import Crew, Member
from emq_sql.demo.queries import Schemas, rows
from emq_sql.protocol import reading


@dataclass(frozen=True, slots=True)
class Flight:
    """One line of the in-flight list; `member` holds it, `alive` unless it was killed."""

    id: UUID
    fence: int
    task: str
    member: Member | None
    alive: bool
    attempts: int
    running: float
    left: float
    path: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is."""

    enqueued: int
    done: int
    waiting: int
    in_flight: int


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a claim: see `sql/fates.sql`."""

    id: UUID
    fence: int
    seconds_left: float | None
    recovered_at: datetime | None
    finished_by: str | None


@dataclass(frozen=True, slots=True)
class Death:
    """A kill -9 in mid-work, by the server's clock."""

    who: str
    jobs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Freeze:
    """A worker that was stopped past its leases, and how many jobs it held."""

    who: str
    jobs: int


@dataclass(slots=True)
class Happened:
    """What was done to the workers, as far as it was seen to have had its effect."""

    deaths: list[Death] = field(default_factory=list)
    freezes: list[Freeze] = field(default_factory=list)


class Scene:
    """The ledger as its reader sees it, on a connection of its own."""

    def __init__(self, conn: psycopg.Connection[Any], schemas: Schemas, crew: Crew) -> None:
        self._conn = conn
        self._schemas = schemas
        self._crew = crew

    def in_flight(self) -> list[Flight]:
        """The in-flight list, in the order of claiming."""
        return [self._flight(row) for row in self._rows("in_flight")]

    def held_by(self, member: Member) -> list[Flight]:
        """What the ledger says that this worker holds, dead or alive."""
        return [flight for flight in self.in_flight() if flight.member is member]

    def progress(self) -> Progress:
        """How far it is."""
        return Progress(**self._rows("progress")[0])

    def fates(self, claims: Sequence[Flight]) -> list[Fate]:
        """What became of these claims."""
        return [Fate(**row) for row in self._rows("fates", **_pairs(claims))]

    def refused(self, claims: Sequence[Flight]) -> int:
        """How many of these claims tried to complete and were refused."""
        return int(self._rows("refused", **_pairs(claims))[0]["refused"])

    def clock(self) -> datetime:
        """The server's."""
        now: datetime = reading.server(self._conn)["clock"]
        return now

    def _flight(self, row: dict[str, Any]) -> Flight:
        member = self._crew.named(row["worker"])
        return Flight(
            row["id"], row["fence"], row["task"], member,
            member is not None and self._crew.has(member), row["attempts"],
            row["running_seconds"], row["seconds_left"], row["path"] or "",
        )  # fmt: skip

    def _rows(self, name: str, **params: Any) -> list[dict[str, Any]]:
        return rows(self._conn, self._schemas, name, **params)


def _pairs(claims: Sequence[Flight]) -> dict[str, Any]:
    return {"ids": [claim.id for claim in claims], "fences": [claim.fence for claim in claims]}
