"""The bell: who waits for jobs parks and listens, and who has added some rings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg import sql

from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.troubles import named
from emq_sql.protocol.upkeep import bell_channel


def listen(conn: psycopg.Connection[Any], schema: str) -> None:
    """From here on this connection hears the bell; it must be in autocommit."""
    with named(), cursor(conn) as c:
        c.execute(sql.SQL("listen {}").format(sql.Identifier(bell_channel(schema))))


def heard(conn: psycopg.Connection[Any], seconds: float) -> Iterator[str]:
    """The queues that were rung for, as they come, until `seconds` have passed."""
    with named():
        for notification in conn.notifies(timeout=seconds):
            yield notification.payload


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
    with named(own_transaction=True), cursor(conn) as c:
        row = c.execute(f"select {schema}.ring_parked(%s)".encode(), [list(queues)]).fetchone()
    assert row is not None
    rung: list[str] = row[0]
    return rung
