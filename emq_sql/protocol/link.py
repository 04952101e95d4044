"""A connection of emq_sql's own: opened when it is needed, and replaced when it has broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import psycopg

from emq_sql.errors import Ambiguous, EmqError, Retryable
from emq_sql.protocol import preparing
from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.silence import CallLimit
from emq_sql.protocol.troubles import named, of_its_connection, translate

T = TypeVar("T")
Connect = Callable[[], psycopg.Connection[Any]]

CALL_LIMIT = 30.0

_APPLICATION_NAME_LENGTH = 63
_SET_UP = (
    "select set_config('application_name', %s, false),"
    " current_setting('default_transaction_isolation'), pg_backend_pid()"
)

# One message to the server, so that no process can freeze between its two halves. A worker that
# freezes later in the transaction keeps its locks (upkeep's among them, without which nobody reaps)
# no longer than this.
_BEGIN = (
    b"begin isolation level read committed; set local idle_in_transaction_session_timeout = '5s'"
)


class Link:
    """Runs one short transaction at a time on a connection that nobody else uses.

    Claims need READ COMMITTED and say so themselves when the database's default differs. A call
    that gets no answer within `limit` seconds is ended. Nothing is repeated here: whoever calls
    knows what a repeat means. `around()` is entered for as long as the server is asked. Not safe in
    two threads, but for `hurry`.
    """

    def __init__(
        self, connect: Connect, application: str, limit: float = CALL_LIMIT,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:  # fmt: skip
        self._connect = connect
        self._application = application[:_APPLICATION_NAME_LENGTH]
        self._limit = limit
        self._around = around
        self._connection: psycopg.Connection[Any] | None = None
        self._calls: CallLimit | None = None
        self._say_isolation = False
        self.answered = 0  # calls, so far

    def call(self, verb: Callable[[psycopg.Connection[Any]], T], limit: float | None = None) -> T:
        """What `verb(connection)` answers, committed.

        Raises Retryable (nothing happened), Ambiguous (the connection broke, or there was no answer
        in time: ask), or what the verb raises. The next call opens a new connection if this one was
        lost, or leads to a server that takes no writes: another one may be the primary by now.
        """
        with self._around():
            answer = self._call(verb, limit)
        self.answered += 1
        return answer

    def _call(self, verb: Callable[[psycopg.Connection[Any]], T], limit: float | None) -> T:
        limit = self._limit if limit is None else limit
        connection = self._connection or self._open(limit)
        calls = self._calls
        try:
            with self._limited(connection, limit):
                if self._say_isolation:
                    return self._transaction(connection, verb)
                return verb(connection)
        except (psycopg.Error, EmqError) as error:
            if of_its_connection(error):
                self.close()
            told = error
            if isinstance(told, psycopg.Error):
                told = translate(told, own_transaction=True)
            if calls is not None and calls.over and isinstance(told, (Ambiguous, Retryable)):
                limit = min(limit, self._limit)
                told = type(told)(f"No answer within {limit:g} s. {told.what}", hint=told.hint)
                raise told from (error.__cause__ or error)
            if told is error:
                raise
            raise told from error

    def hurry(self, limit: float) -> None:
        """From now on no call takes longer; may be called from any thread or signal handler."""
        self._limit = min(self._limit, limit)
        if (calls := self._calls) is not None:
            calls.shorten(limit)

    def connection(self) -> psycopg.Connection[Any]:
        """The open connection, for what is no transaction (listening)."""
        with self._around():
            return self._connection or self._open(self._limit)

    def close(self) -> None:
        """Close the connection if there is one; the link may be used again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self._forget()

    def _transaction(
        self, connection: psycopg.Connection[Any], verb: Callable[[psycopg.Connection[Any]], T]
    ) -> T:
        connection.execute(_BEGIN)
        try:
            answer = verb(connection)
        except BaseException:
            if not connection.closed:
                connection.rollback()
            raise
        connection.commit()
        return answer

    def _open(self, limit: float) -> psycopg.Connection[Any]:
        with named():
            connection = self._connection = self._connect()
            connection.prepare_threshold = None  # a pooler may give each call another session
            try:
                self._calls = CallLimit(connection)
                with self._limited(connection, limit), cursor(connection) as c:
                    row = c.execute(_SET_UP, [self._application]).fetchone()
            except psycopg.errors.FeatureNotSupported as error:
                # A standby takes no transaction that is serializable, were it only by default.
                self.close()
                raise Retryable(str(error), hint="Connect to the primary.") from error
            except BaseException:
                self.close()
                raise
        assert row is not None
        preparing.allow(connection, row[2])
        self._say_isolation = row[1] != "read committed"
        return connection

    @contextmanager
    def _limited(self, connection: psycopg.Connection[Any], limit: float) -> Iterator[None]:
        calls = self._calls
        assert calls is not None
        calls.begin(min(limit, self._limit))
        try:
            yield
        finally:
            calls.end()
            if connection.closed:
                self._connection = None
                self._forget()

    def _forget(self) -> None:
        calls, self._calls = self._calls, None
        if calls is not None:
            calls.close()
