"""reap, check_stalled, promote, maintain, tidy, pause, resume, ring and the register of workers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg

from emq_sql.job import Maintained, Reaped, Tidied
from emq_sql.protocol.adapt import cursor, naming
from emq_sql.protocol.isolation import settled


def reap(conn: psycopg.Connection[Any], schema: str, limit: int = 500) -> Reaped:
    """Take back up to `limit` expired leases of all queues, counted."""
    row = _row(conn, f"select recovered, dead, skipped from {schema}.reap(%s)", [limit])
    return Reaped(*row)


def check_stalled(
    conn: psycopg.Connection[Any], schema: str, queue: str, max_stalled: int | None = None,
    limit: int = 500,
) -> tuple[list[UUID], list[UUID]]:  # fmt: skip
    """The same for one queue, with a given threshold: ids put back, and ids that are dead now."""
    row = _row(
        conn, f"select recovered, dead from {schema}.check_stalled(%s, %s, %s)",
        [queue, max_stalled, limit],
    )  # fmt: skip
    return row[0], row[1]


def promote(conn: psycopg.Connection[Any], schema: str, limit: int = 1000) -> int:
    """Move up to `limit` scheduled jobs that are due into the line; answers how many."""
    return int(_row(conn, f"select {schema}.promote(%s)", [limit])[0])


def maintain(conn: psycopg.Connection[Any], schema: str, limit: int = 1000) -> Maintained:
    """One pass of upkeep; `ran` is False when another session is at it."""
    row = _row(conn, f"select ran, promoted, recovered, dead from {schema}.maintain(%s)", [limit])
    return Maintained(row[0], row[1] or 0, row[2] or 0, row[3] or 0)


def maintain_due(
    conn: psycopg.Connection[Any], schema: str, every: timedelta, limit: int = 1000
) -> Maintained:
    """A pass of upkeep if the last one, by whomever, is `every` old; `ran` says whether."""
    query = f"select ran, promoted, recovered, dead from {schema}.maintain_due(%s, %s)"
    row = _row(conn, query, [every, limit])
    return Maintained(row[0], row[1] or 0, row[2] or 0, row[3] or 0)


def tidy(conn: psycopg.Connection[Any], schema: str, limit: int = 2000) -> Tidied:
    """One bounded step of retention; again until it is idle, each in a transaction of its own."""
    with settled(conn):
        return Tidied(*_row(conn, f"select did, what, remaining from {schema}.tidy(%s)", [limit]))


def pause(conn: psycopg.Connection[Any], schema: str, queue: str, label: str | None = None) -> None:
    """No claim takes a job of this queue from now on; running jobs go on."""
    _row(conn, f"select {schema}.pause(%s, %s)", [queue, label])


def resume(
    conn: psycopg.Connection[Any], schema: str, queue: str, label: str | None = None
) -> None:
    """Claims take jobs of this queue again."""
    _row(conn, f"select {schema}.resume(%s, %s)", [queue, label])


def configure(
    conn: psycopg.Connection[Any], schema: str, queue: str, *, lease: timedelta | None = None,
    max_attempts: int | None = None, max_stalled: int | None = None,
    retention: timedelta | None = None, label: str | None = None,
) -> None:  # fmt: skip
    """Set what is given of a queue's settings and leave the rest."""
    _row(
        conn, f"select {schema}.configure(%s, %s::interval, %s, %s, %s::interval, %s)",
        [queue, lease, max_attempts, max_stalled, retention, label],
    )  # fmt: skip


def ring(conn: psycopg.Connection[Any], schema: str, queue: str) -> None:
    """Wake the workers that listen for this queue; a hint, never the only way to a job."""
    _row(conn, f"select {schema}.ring(%s)", [queue])


def bell_channel(schema: str) -> str:
    """The NOTIFY channel that `ring` uses."""
    return f"{schema}.ring"


def tag(conn: psycopg.Connection[Any], schema: str, environment: str | None) -> None:
    """Name the environment that this database belongs to (None takes the tag off)."""
    _row(conn, f"select {schema}.tag(%s)", [environment])


def worker_seen(
    conn: psycopg.Connection[Any], schema: str, name: str, queues: Sequence[str], slots: int,
    version: str,
) -> None:  # fmt: skip
    """Show a worker to people; recovery never reads it."""
    _row(
        conn, f"select {schema}.worker_seen(%s, %s::text[], %s, %s)",
        [name, list(queues), slots, version],
    )  # fmt: skip


def worker_gone(conn: psycopg.Connection[Any], schema: str, name: str) -> None:
    """A worker that ended in order is no longer shown."""
    _row(conn, f"select {schema}.worker_gone(%s)", [name])


def _row(conn: psycopg.Connection[Any], query: str, params: list[Any]) -> tuple[Any, ...]:
    with naming(conn), cursor(conn) as c:
        row = c.execute(query.encode(), params).fetchone()
    assert row is not None
    return row
