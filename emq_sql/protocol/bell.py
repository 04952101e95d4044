"""The bell: who waits for jobs parks and listens, and who has added some rings."""

from __future__ import annotations

import select
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from emq_sql.protocol import preparing
from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.troubles import named
from emq_sql.protocol.upkeep import bell_channel, ring

_OF_A_JOB = "!"  # as no name of a queue begins


class LastWords:
    """Why the server has ended a connection that asked for nothing, if it said so."""

    def __init__(self) -> None:
        self.said: str | None = None

    def note(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "FATAL":
            self.said = notice.message_primary


def listen(conn: psycopg.Connection[Any], schema: str) -> LastWords:
    """From here on this connection hears the bell; it must be in autocommit."""
    last = LastWords()
    conn.add_notice_handler(last.note)
    with named(), cursor(conn) as c:
        c.execute(sql.SQL("listen {}").format(sql.Identifier(bell_channel(schema))))
    return last


def unlisten(conn: psycopg.Connection[Any], schema: str) -> None:
    """It hears the bell no more."""
    with named(), cursor(conn) as c:
        c.execute(sql.SQL("unlisten {}").format(sql.Identifier(bell_channel(schema))))


def heard(conn: psycopg.Connection[Any], seconds: float, poked: int) -> list[str]:
    """The queues that were rung for; none when `seconds` have passed first, or when there is
    something to read at the descriptor `poked`. Sends nothing.
    """
    with named():
        if not (come := _come(conn)):
            waiting = select.poll()
            for descriptor in (conn.fileno(), poked):
                waiting.register(descriptor, select.POLLIN)
            waiting.poll(seconds * 1000)
            come = _come(conn)
    return come


def park(conn: psycopg.Connection[Any], schema: str, queues: Sequence[str]) -> None:
    """This session waits for jobs of these queues, and of no others, until it parks anew or ends.

    It must listen already; look into the queues once more after this. With none it waits no more.
    """
    with named(), cursor(conn) as c:
        c.execute(f"select {schema}.park(%s)".encode(), [list(queues)])


def ring_parked(conn: psycopg.Connection[Any], schema: str, queues: Sequence[str]) -> list[str]:
    """Wake those who wait for one of these queues, if anybody does; answers the queues rung for.

    For after the commit of the enqueue, in a transaction of its own.
    """
    query = f"select {schema}.ring_parked(%s)".encode()
    with named(own_transaction=True), cursor(conn) as c:
        row = c.execute(query, [list(queues)], prepare=preparing.wanted(conn)).fetchone()
    assert row is not None
    rung: list[str] = row[0]
    return rung


def ring_holder(conn: psycopg.Connection[Any], schema: str, job: UUID) -> None:
    """Let the worker that runs this job ask at once what became of it, if it hears the bell; else
    it learns that with its next extension. After the commit of what became of it.
    """
    ring(conn, schema, f"{_OF_A_JOB}{job}")


def job_rung(rung: str) -> UUID | None:
    """The job whose holder was rung for; None when this ring is none of that kind."""
    if not rung.startswith(_OF_A_JOB):
        return None
    try:
        return UUID(rung[len(_OF_A_JOB) :])
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Seen:
    """Where a connection leads. `pooled`: something between us and the server answers for it.

    A copy of a database has its ledger's id, and a copy of a server also the number of its
    database: but no two servers were started in the same microsecond.
    """

    pooled: bool
    server: datetime
    number: int
    database: str
    ledger: UUID | None


def seen(conn: psycopg.Connection[Any], schema: str) -> Seen:
    """Where it leads; the ledger is None when there is none of this schema."""
    there = sql.SQL(
        "select to_regclass({}) is not null, pg_backend_pid(), pg_postmaster_start_time(),"
        " oid::int8, datname::text from pg_catalog.pg_database where datname = current_database()"
    )
    ledger_id = sql.SQL("select ledger_id from {}").format(sql.Identifier(schema, "meta"))
    with named(), cursor(conn) as c:
        row = c.execute(there.format(sql.Literal(f"{schema}.meta"))).fetchone()
        assert row is not None
        has_ledger, pid, server, number, database = row
        found = c.execute(ledger_id).fetchone() if has_ledger else None
    pooled = pid != conn.info.backend_pid
    return Seen(pooled, server, number, database, found[0] if found else None)


def _come(conn: psycopg.Connection[Any]) -> list[str]:
    return [notification.payload for notification in conn.notifies(timeout=0)]
