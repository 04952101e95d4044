"""The read side: the ledger, the depths, where a job is and its story. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg

from emq_sql.protocol.rows import Row, read


def ledger(
    conn: psycopg.Connection[Any], schema: str, queue: str | None = None, limit: int = 1000
) -> list[Row]:
    """The in-flight list, nearest deadline first."""
    return read(
        conn,
        f"select * from {schema}.ledger where (%s::text is null or queue = %s)"
        " order by lease_deadline limit %s",
        [queue, queue, limit],
    )


def held_by(conn: psycopg.Connection[Any], schema: str, worker: str) -> int:
    """How many jobs this worker holds."""
    query = f"select count(*) as n from {schema}.ledger where worker = %s"
    return int(read(conn, query, [worker])[0]["n"])


def depth(conn: psycopg.Connection[Any], schema: str) -> list[Row]:
    """Each queue that has settings or live jobs, with its counts and the age of its oldest."""
    return read(conn, f"select * from {schema}.depth order by queue", [])


def place(conn: psycopg.Connection[Any], schema: str, job: UUID) -> Row | None:
    """Where a job is now, or None when the id is not known."""
    return _first(read(conn, f"select * from {schema}.place(%s)", [job]))


def refused_since(
    conn: psycopg.Connection[Any], schema: str, jobs: Sequence[UUID], since: datetime
) -> set[UUID]:
    """Those of these jobs of which a call was refused at or after that instant of the server."""
    query = f"select distinct id from {schema}.refusal where id = any(%s) and at >= %s"
    return {row["id"] for row in read(conn, query, [list(jobs), since])}


def story(conn: psycopg.Connection[Any], schema: str, job: UUID) -> list[Row]:
    """What happened to a job, in order of time."""
    return read(conn, f"select * from {schema}.story(%s)", [job])


def envelope(conn: psycopg.Connection[Any], schema: str, job: UUID) -> Row | None:
    """A job as it was enqueued, payload and all."""
    return _first(read(conn, f"select * from {schema}.envelope(%s)", [job]))


def result(conn: psycopg.Connection[Any], schema: str, job: UUID) -> Row | None:
    """When a job completed and with which result; None when it has not (or is retired)."""
    return _first(read(conn, f"select * from {schema}.result(%s)", [job]))


def meta(conn: psycopg.Connection[Any], schema: str) -> Row:
    """The ledger's version, id and environment tag."""
    return read(conn, f"select * from {schema}.meta", [])[0]


def last_reap(conn: psycopg.Connection[Any], schema: str) -> Row | None:
    """The newest row of the reap log, with its age in seconds by the server's clock."""
    return _first(
        read(
            conn,
            f"select *, extract(epoch from clock_timestamp() - at)::float8 as age_seconds"
            f" from {schema}.reap_log order by at desc limit 1",
            [],
        )
    )


def stuck(conn: psycopg.Connection[Any], schema: str, older: timedelta) -> int:
    """How many leases expired longer ago than that, and were not taken back: always none."""
    query = (
        f"select count(*) as n from {schema}.ledger"
        " where lease_deadline < clock_timestamp() - %s::interval"
    )
    return int(read(conn, query, [older])[0]["n"])


def retention(conn: psycopg.Connection[Any], schema: str) -> Row:
    """How the archive's days are let go: `overdue` of them ended longer ago than all retentions and
    another day, and are here; `strays` says whether there are rows in none of them.
    """
    return read(
        conn,
        "select count(*) filter (where goes_at <= clock_timestamp() - interval '1 day') as overdue,"
        f" coalesce(bool_or(day is null), false) as strays from {schema}.kept_days()",
        [],
    )[0]


def workers(conn: psycopg.Connection[Any], schema: str) -> list[Row]:
    """The workers that showed themselves, with the seconds since they were last seen."""
    return read(
        conn,
        f"select *, extract(epoch from clock_timestamp() - seen_at)::float8 as seen_seconds"
        f" from {schema}.worker order by name",
        [],
    )


def misplaced(conn: psycopg.Connection[Any], schema: str) -> list[Row]:
    """Jobs that are not in exactly one place: always none."""
    return read(conn, f"select * from {schema}.misplaced", [])


def server(conn: psycopg.Connection[Any]) -> Row:
    """Facts of the server and this session: version, clock, recovery, default isolation."""
    return read(
        conn,
        "select current_setting('server_version') as version,"
        " current_setting('server_version_num')::int as version_num,"
        " clock_timestamp() as clock, pg_is_in_recovery() as in_recovery,"
        " current_setting('default_transaction_isolation') as default_isolation,"
        " current_setting('synchronous_commit') as synchronous_commit,"
        " current_setting('server_encoding') as encoding",
        [],
    )[0]


def _first(rows: list[Row]) -> Row | None:
    return rows[0] if rows else None
