"""What is asked of pg_cron, in the one database of the cluster that has it.

Its functions and tables are the same from 1.4 on, as far as they are used here. Row security shows
a role its own jobs and runs only; a superuser sees all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from emq_sql.errors import NoPgCron, Refused
from emq_sql.protocol import connecting
from emq_sql.protocol.adapt import cursor, legible
from emq_sql.protocol.troubles import named

Row = dict[str, Any]

ITS_OWN = "pg_cron"


@dataclass(frozen=True, slots=True)
class Home:
    """Where pg_cron says it is at home. `database` is None when that cannot be known.

    `loaded`: its library is in the server; None when this role may not see it.
    """

    database: str | None
    loaded: bool


def version(conn: psycopg.Connection[Any]) -> str | None:
    """The version of the extension in this database; None when it was not created here."""
    query = "select extversion from pg_catalog.pg_extension where extname = %s"
    row = _first(conn, query, [ITS_OWN])
    return None if row is None else row["extversion"]


def home(conn: psycopg.Connection[Any]) -> Home:
    """What the server says of it; not every role may see where, but each that it is there."""
    try:
        row = _first(conn, "select current_setting('cron.database_name', true) as name")
    except Refused:
        return Home(None, loaded=True)
    name = None if row is None else row["name"]
    return Home(name, loaded=name is not None)


def whereabouts(conn: psycopg.Connection[Any]) -> tuple[str, str]:
    """This connection's database and role."""
    row = _first(conn, "select current_database()::text as name, current_user::text as role")
    assert row is not None
    return row["name"], row["role"]


def refuses_superusers(conn: psycopg.Connection[Any]) -> bool:
    """Whether this role is a superuser, and pg_cron runs no job of superusers."""
    row = _first(
        conn,
        "select case when r.rolsuper"
        " then current_setting('cron.enable_superuser_jobs', true) = 'off' end as refused"
        " from pg_catalog.pg_roles r where r.rolname = current_user",
    )
    return bool(row and row["refused"])


def elsewhere(conn: psycopg.Connection[Any], database: str) -> psycopg.Connection[Any]:
    """A new connection with the same settings to another database of the same cluster.

    Raises Retryable when it is not to be had.
    """
    dsn = make_conninfo(conn.info.dsn, password=conn.info.password, dbname=database)
    return connecting.like(conn, dsn)


@contextmanager
def looking(conn: psycopg.Connection[Any]) -> Iterator[None]:
    """In this block nothing can be changed: the server itself would refuse."""
    with _told(conn), conn.transaction():
        conn.execute("set transaction read only")
        yield


def jobs(conn: psycopg.Connection[Any], names: Sequence[str]) -> list[Row]:
    """The jobs of these names, as far as this role may see them."""
    return _rows(
        conn,
        "select jobid, jobname::text as name, schedule, command, database, username, active"
        " from cron.job where jobname::text = any(%s::text[]) order by jobid",
        [list(names)],
    )


def schedule(
    conn: psycopg.Connection[Any], name: str, when: str, command: str, database: str | None
) -> int:
    """Schedule, or change, this role's job of that name; `database` is None for this one.

    Its id, which stays. A change leaves its database and whether it is active as they are.
    """
    if database is None:
        query, params = "select cron.schedule(%s, %s, %s) as id", [name, when, command]
    else:
        query = "select cron.schedule_in_database(%s, %s, %s, %s) as id"
        params = [name, when, command, database]
    row = _first(conn, query, params)
    assert row is not None
    return int(row["id"])


def alter(conn: psycopg.Connection[Any], job: int, when: str, command: str) -> None:
    """Change a job of whichever role, and let it run; a superuser may, and whom he has let."""
    _first(
        conn,
        "select cron.alter_job(%s, schedule => %s, command => %s, active => true)::text as done",
        [job, when, command],
    )


def unschedule(conn: psycopg.Connection[Any], job: int) -> None:
    """Take a job away; its runs stay on record."""
    _first(conn, "select cron.unschedule(%s::bigint) as done", [job])


def last_runs(conn: psycopg.Connection[Any], ids: Sequence[int]) -> dict[int, Row]:
    """The newest run of each of these jobs, by its id, with the seconds since it began."""
    rows = _rows(
        conn,
        "select j.id as jobid, r.status, r.return_message as message, r.start_time, r.end_time,"
        " extract(epoch from clock_timestamp() - r.start_time)::float8 as seconds"
        " from unnest(%s::bigint[]) as j (id) cross join lateral ("
        "   select d.* from cron.job_run_details d where d.jobid = j.id"
        "    order by d.runid desc limit 1) r",
        [list(ids)],
    )
    return {row["jobid"]: row for row in rows}


def runs(conn: psycopg.Connection[Any], ids: Sequence[int], mark: str) -> int:
    """How many runs are on record of these jobs, and of all whose command begins with the mark."""
    row = _first(
        conn,
        "select count(*) as n from cron.job_run_details"
        " where jobid = any(%s::bigint[]) or starts_with(command, %s)",
        [list(ids), mark],
    )
    assert row is not None
    return int(row["n"])


def forget(conn: psycopg.Connection[Any], ids: Sequence[int], mark: str) -> int:
    """Delete these runs from the record; answers how many."""
    with _told(conn), cursor(conn) as c:
        c.execute(
            "delete from cron.job_run_details"
            " where jobid = any(%s::bigint[]) or starts_with(command, %s)",
            [list(ids), mark],
        )
        return c.rowcount


def _rows(conn: psycopg.Connection[Any], query: str, params: Sequence[Any] = ()) -> list[Row]:
    with _told(conn), legible(psycopg.Cursor(conn, row_factory=dict_row)) as c:
        return c.execute(query.encode(), params).fetchall()


def _first(conn: psycopg.Connection[Any], query: str, params: Sequence[Any] = ()) -> Row | None:
    rows = _rows(conn, query, params)
    return rows[0] if rows else None


@contextmanager
def _told(conn: psycopg.Connection[Any]) -> Iterator[None]:
    """Say of a refusal of pg_cron what to do about it."""
    try:
        with named():
            yield
    except Exception as error:
        cause = error.__cause__
        if isinstance(cause, psycopg.errors.InsufficientPrivilege):
            raise Refused(_said(cause), hint=_remedy(cause, conn.info.user)) from cause
        if isinstance(cause, psycopg.Error) and "shared_preload_libraries" in str(cause):
            hint = "Set shared_preload_libraries = 'pg_cron', and restart the server."
            raise NoPgCron(_said(cause), hint=hint) from cause
        raise


def _said(error: psycopg.Error) -> str:
    return f"pg_cron: {error.diag.message_primary or error}."


def _remedy(error: psycopg.Error, role: str) -> str:
    said = error.diag.message_primary or ""
    for function in ("schedule_in_database", "alter_job"):
        if function in said:
            return (
                "Do this as a superuser, or let one run in the database of pg_cron: grant execute"
                f' on function cron.{function} to "{role}".'
            )
    if "schema cron" in said:
        return (
            "Let a superuser run in the database of pg_cron:"
            f' grant usage on schema cron to "{role}".'
        )
    return "Ask a superuser, or give --cron-dsn with a role that may."
