"""READ COMMITTED for calls that need it, where the database, or the role, has another default."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.troubles import named


def settle(conn: psycopg.Connection[Any]) -> None:
    """From now on `settled` blocks on this connection, in autocommit, are READ COMMITTED."""
    with named(), cursor(conn) as c:
        row = c.execute("select current_setting('default_transaction_isolation')").fetchone()
    if row != ("read committed",):
        conn.isolation_level = psycopg.IsolationLevel.READ_COMMITTED


@contextmanager
def settled(conn: psycopg.Connection[Any]) -> Iterator[None]:
    """Around one call: where the default is another one, a transaction that says so itself.

    A setting of the session would be another client's behind a pooler.
    """
    if conn.isolation_level is None:
        yield
        return
    with conn.transaction():
        yield
