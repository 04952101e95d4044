"""Which connections may keep prepared statements: those that lead to their server directly.

A pooler in transaction mode gives each transaction another session, and one older than PgBouncer
1.21 then answers that a statement exists already, or does not exist. It gives its clients a process
number of its own invention, so a connection whose number is that of the session is direct.
"""

from __future__ import annotations

from typing import Any

import psycopg

# For psycopg it is how often a statement runs before it is prepared by itself. Only those are
# prepared here that ask for it, for a schema may change under a connection, and a prepared
# statement whose columns changed fails for ever: they name their columns.
_ON_REQUEST = 1 << 30


def allow(conn: psycopg.Connection[Any], session: int) -> None:
    """Let statements be prepared that ask for it, if `session` (what `pg_backend_pid()` answered
    on this connection) says that it is direct.
    """
    if session == conn.info.backend_pid:
        conn.prepare_threshold = _ON_REQUEST


def wanted(conn: psycopg.Connection[Any]) -> bool | None:
    """For `execute(prepare=...)`: yes on a connection that was allowed to; on one of the
    application's, as the application has set it.
    """
    return True if conn.prepare_threshold == _ON_REQUEST else None


def ask(conn: psycopg.Connection[Any]) -> None:
    """The same, asking the server; the connection must be in autocommit, or in a transaction."""
    row = conn.execute("select pg_backend_pid()").fetchone()
    allow(conn, row[0] if row else 0)
