"""The sessions in which a run's own SQL goes: which backend they have, and how it is stopped.

Asked through a cursor of whatever driver, since the connection is the application's.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import psycopg
from psycopg.pq import TransactionStatus

PATIENCE = 3.0  # seconds to get a cancel request through
GONE_WITHIN = "2s"  # after its client has died, a statement goes on no longer

Driver = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]

# Left alone where somebody has chosen a value.
_END_WITH_CLIENT = f"""
select pg_catalog.set_config('client_connection_check_interval', '{GONE_WITHIN}', false)
 where pg_catalog.current_setting('client_connection_check_interval') = '0'
"""


class Cursor(Protocol):
    """As every DBAPI has it."""

    def execute(self, query: str) -> Any:
        """Send it."""

    def fetchone(self) -> Any:
        """The next row."""

    def close(self) -> Any:
        """It is needed no more."""


def is_direct(cursor: Cursor, driver: Driver) -> bool:
    """Whether nothing stands between this connection and its backend: the pid that the server told
    libpq is that of the backend. A pooler tells one of its own.
    """
    cursor.execute("select pg_catalog.pg_backend_pid()")
    (pid,) = cursor.fetchone()
    return bool(pid == driver.info.backend_pid)


def end_with_client(cursor: Cursor) -> None:
    """From the next commit on the session ends soon after its client, even in the middle of a
    statement. For direct connections. Raises where the server's system cannot do that.
    """
    cursor.execute(_END_WITH_CLIENT)


def runs_statement(driver: Driver) -> bool:
    """Whether it waits for the answer to a statement now. Any thread may ask."""
    return driver.info.transaction_status == TransactionStatus.ACTIVE


def cancel_statement(driver: Driver) -> None:
    """Have the server cancel what this connection runs now; nothing happens if that is nothing.

    The request names the session by its secret key, on a connection of its own that takes no slot
    and no right, and is delivered at return. Not for a coroutine. Raises psycopg.Error.
    """
    if isinstance(driver, psycopg.AsyncConnection):
        asyncio.run(driver.cancel_safe(timeout=PATIENCE))
    else:
        driver.cancel_safe(timeout=PATIENCE)
