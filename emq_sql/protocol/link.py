"""A connection of emq_sql's own: opened when it is needed, and replaced when it has broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import psycopg

from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.troubles import named, translate

T = TypeVar("T")
Connect = Callable[[], psycopg.Connection[Any]]

_APPLICATION_NAME_LENGTH = 63
_SET_UP = (
    "select set_config('application_name', %s, false),"
    " current_setting('default_transaction_isolation')"
)


class Link:
    """Runs one short transaction at a time on a connection that nobody else uses.

    Claims need READ COMMITTED and say so themselves when the database's default differs. Nothing
    is repeated here: whoever calls knows what a repeat means. Not safe in two threads.
    """

    def __init__(self, connect: Connect, application: str) -> None:
        self._connect = connect
        self._application = application[:_APPLICATION_NAME_LENGTH]
        self._connection: psycopg.Connection[Any] | None = None
        self._say_isolation = False

    def call(self, verb: Callable[[psycopg.Connection[Any]], T]) -> T:
        """What `verb(connection)` answers, committed.

        Raises Retryable (nothing happened), Ambiguous (the connection broke: ask), or what the
        verb raises. The next call opens a new connection if this one was lost.
        """
        connection = self._connection or self._open()
        try:
            if not self._say_isolation:
                return verb(connection)
            with connection.transaction():
                return verb(connection)
        except psycopg.Error as error:
            raise translate(error, own_transaction=True) from error
        finally:
            if connection.closed:
                self._connection = None

    def connection(self) -> psycopg.Connection[Any]:
        """The open connection, for what is no transaction (listening)."""
        return self._connection or self._open()

    def close(self) -> None:
        """Close the connection if there is one; the link may be used again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self) -> psycopg.Connection[Any]:
        with named():
            connection = self._connect()
            try:
                with cursor(connection) as c:
                    row = c.execute(_SET_UP, [self._application]).fetchone()
            except BaseException:
                connection.close()
                raise
        self._say_isolation = row is None or row[1] != "read committed"
        if self._say_isolation:
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        self._connection = connection
        return connection
