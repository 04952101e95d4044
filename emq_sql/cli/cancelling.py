"""One job after the other is cancelled, and its worker told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import psycopg

from emq_sql.job import Answer
from emq_sql.protocol import bell, operating, reading
from emq_sql.protocol.bounded import BoundedConnection
from emq_sql.rules.printable import printable

_TRIES = 20  # while an open transaction has the job, five seconds in all
_PAUSE = 0.25
_HEARS_WITHIN = 1.5  # seconds
_LOOKS_EVERY = 0.05


@dataclass(frozen=True, slots=True)
class End:
    """What became of one job.

    `was`: running | waiting, or where it is when nothing was done, None when it is not known.
    `worker`, of a running one, holds or held it; `told`: whether that is known to know, None when
    there is nobody to tell.
    """

    id: UUID
    answer: Answer
    was: str | None = None
    worker: str | None = None
    told: bool | None = None

    def advice(self, *, stop: bool) -> str | None:
        """What to say of it besides, if anything."""
        who = printable(self.worker or "?")
        if self.answer == "busy":
            if self.was != "running":
                return f"job {self.id}: an open transaction is moving it right now. Ask again."
            did = "was asked to cancel its SQL" if stop else "--sql would cancel the SQL it runs"
            return (
                f"job {self.id}: {who} holds it in an open transaction that has guarded or settled"
                f" it, and nobody can come between. Ask again; {did}."
            )
        if self.told is False:
            return (
                f"job {self.id}: cancelled, and {who} does not say yet that it knows. It hears no"
                " bell, hangs, or is dead; it learns it with its next extension."
            )
        return None


def end(conn: BoundedConnection, schema: str, job: UUID, label: str | None, *, stop: bool) -> End:
    """Cancel it, asking again for five seconds while it is busy; who holds it is rung for."""
    answer = _first(conn, schema, job, label, stop=stop)
    if answer == "busy" and stop:
        bell.ring_holder(conn, schema, job)
    for _ in range(_TRIES - 1):
        if answer != "busy":
            break
        time.sleep(_PAUSE)
        answer = operating.cancel(conn, schema, job, label)
    place = reading.place(conn, schema, job) or {}
    worker = place.get("worker")
    if answer == "done":
        if worker is None:
            return End(job, answer, "waiting")
        bell.ring_holder(conn, schema, job)
        return End(job, answer, "running", worker, told=False)
    where = place.get("place")
    return End(job, answer, "running" if where == "active" else where, worker)


def told(conn: BoundedConnection, schema: str, ends: Sequence[End]) -> list[End]:
    """The same, once the workers that were rung for have said that they know, or some time later.

    Who holds a cancelled job asks to have its lease extended, and that refusal is on record.
    """
    waits = {one.id for one in ends if one.told is False}
    since = min(
        (place["until"] for id in waits if (place := reading.place(conn, schema, id))),
        default=None,
    )
    until = time.monotonic() + _HEARS_WITHIN
    known: set[UUID] = set()
    while waits - known and since is not None:
        known = reading.refused_since(conn, schema, [*waits], since)
        if time.monotonic() >= until:
            break
        if waits - known:
            time.sleep(_LOOKS_EVERY)
    return [replace(one, told=True) if one.id in known else one for one in ends]


def _first(
    conn: BoundedConnection, schema: str, job: UUID, label: str | None, *, stop: bool
) -> Answer:
    if not stop:
        return operating.cancel(conn, schema, job, label)
    with conn.transaction():
        operating.stop_sql(conn, schema, job, label)
        answer = operating.cancel(conn, schema, job, label)
        if answer == "lost":
            raise psycopg.Rollback
        return answer
    return "lost"
