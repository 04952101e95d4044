"""What operators do: cancel, stop_sql, drain, obliterate, release_worker, adopt.

Those with batches answer one batch a call, committed by itself when the connection is in
autocommit: who is interrupted has done what was answered, and may go on from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from emq_sql.job import Answer
from emq_sql.protocol.adapt import cursor, naming

Place = dict[str, Any]  # how far a verb has come: opaque, to be given back to it


@dataclass(frozen=True, slots=True)
class Drained:
    """One batch of `drain`; no `next`: it was the last."""

    cancelled: int
    next: Place | None


@dataclass(frozen=True, slots=True)
class Obliterated:
    """One batch of `obliterate`: more | busy | active | done | left; how many jobs it took away.

    `remaining` counts the jobs that run (`active`), or are there at the end all the same (`left`).
    """

    status: Literal["more", "busy", "active", "done", "left"]
    erased: int
    next: Place | None
    remaining: int | None


@dataclass(frozen=True, slots=True)
class Adopted:
    """One batch of `adopt`: more | busy | workers | done, and what it did."""

    status: Literal["more", "busy", "workers", "done"]
    cancelled: int
    discarded: int
    paused: list[str]


Home = Literal["yes", "no", "unknown"]
How = Literal["run", "hold", "discard"]


def cancel(
    conn: psycopg.Connection[Any], schema: str, job: UUID, label: str | None = None
) -> Answer:
    """A waiting job is archived; a running one too, and its fence ends. `busy`: ask again."""
    answer: Answer = _row(conn, f"select {schema}.cancel(%s, %s)", [job, label])[0]
    return answer


def stop_sql(
    conn: psycopg.Connection[Any], schema: str, job: UUID, label: str | None = None
) -> None:
    """The SQL that its handler runs should be ended too; call it before `cancel`, in the same
    transaction.
    """
    _row(conn, f"select {schema}.stop_sql(%s, %s)", [job, label])


def drain(
    conn: psycopg.Connection[Any], schema: str, queue: str, limit: int, *, scheduled: bool = False,
    after: Place | None = None, label: str | None = None,
) -> Drained:  # fmt: skip
    """Cancel a batch of the jobs that wait in a queue; running ones go on."""
    query = f"select cancelled, next from {schema}.drain(%s, %s, %s, %s, %s)"
    return Drained(*_row(conn, query, [queue, limit, scheduled, _jsonb(after), label]))


def obliterate(
    conn: psycopg.Connection[Any], schema: str, queue: str, confirm: str, limit: int, *,
    after: Place | None = None, force: bool = False, dry_run: bool = False,
    label: str | None = None,
) -> Obliterated:  # fmt: skip
    """Take a batch of everything of a queue away for good; with `dry_run` only count it."""
    query = (
        "select status, erased, next, remaining"
        f" from {schema}.obliterate(%s, %s, %s, %s, %s, %s, %s)"
    )
    params = [queue, confirm, _jsonb(after), limit, force, dry_run, label]
    return Obliterated(*_row(conn, query, params))


def release_worker(
    conn: psycopg.Connection[Any], schema: str, worker: str, limit: int, label: str | None = None
) -> tuple[int, int]:
    """Take back a batch of what a worker holds: how many, and how many it holds all the same."""
    query = f"select released, busy from {schema}.release_worker(%s, %s, %s)"
    row = _row(conn, query, [worker, limit, label])
    return row[0], row[1]


def adopt(
    conn: psycopg.Connection[Any], schema: str, environment: str | None, how: How, limit: int,
    label: str | None = None,
) -> Adopted:  # fmt: skip
    """Make a copied database one of its own, in batches; nothing is adopted before `done`."""
    query = f"select status, cancelled, discarded, paused from {schema}.adopt(%s, %s, %s, %s)"
    return Adopted(*_row(conn, query, [environment, how, limit, label]))


def at_home(conn: psycopg.Connection[Any], schema: str, environment: str | None) -> Home:
    """Whether this database is where its workers first ran; the first who asks makes it so."""
    answer: Home = _row(conn, f"select {schema}.at_home(%s)", [environment])[0]
    return answer


def here(conn: psycopg.Connection[Any], schema: str) -> str | None:
    """Where this database is, as `meta.home` says it; None where the server does not tell."""
    answer: str | None = _row(conn, f"select {schema}.here()", [])[0]
    return answer


def _jsonb(place: Place | None) -> Jsonb | None:
    return None if place is None else Jsonb(place)


def _row(conn: psycopg.Connection[Any], query: str, params: list[Any]) -> tuple[Any, ...]:
    with naming(conn), cursor(conn) as c:
        row = c.execute(query.encode(), params).fetchone()
    assert row is not None
    return row
