"""Listening for the bell that `ring` rings."""

from __future__ import annotations

from collections.abc import Iterator
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
