"""Finds the psycopg connection of a caller's open transaction, and never ends that transaction."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format, TransactionStatus
from psycopg.rows import tuple_row
from sqlalchemy.engine import Connection

from emq_sql.errors import UnsupportedHandle
from emq_sql.protocol.troubles import found, named

Row = TypeVar("Row")


def driver_connection(handle: object) -> psycopg.Connection[Any]:
    """The psycopg connection under a Session, a Connection, or itself.

    Begins SQLAlchemy's transaction when there is none yet, as its own `execute` would: else its
    `commit` would not know that there is something to commit. Never flushes, commits, rolls back
    or reconnects. Raises UnsupportedHandle for anything else, Retryable or Refused when the handle
    has no working connection to give.
    """
    if isinstance(handle, psycopg.Connection):
        return handle
    with found():
        connection = connection_of(handle)
        if connection is not None:
            if not connection.in_transaction():
                connection.begin()
            return driver_of(connection)
    raise UnsupportedHandle(
        f"A {type(handle).__module__}.{type(handle).__qualname__} cannot carry a transaction here.",
        hint="Give a SQLAlchemy Session or Connection, or a psycopg Connection (no engine, no"
        " asynchronous one, no cursor).",
    )


def connection_of(handle: object) -> Connection | None:
    """The SQLAlchemy Connection of a Session's transaction, or itself; None for any other thing."""
    if isinstance(handle, _sessions()):
        session: Any = handle
        connection: Connection = session.connection()
        return connection
    return handle if isinstance(handle, Connection) else None


def _sessions() -> Any:
    # Who has a session has imported the ORM; all others are spared a fifth of the start-up time.
    orm = sys.modules.get("sqlalchemy.orm")
    kinds = (getattr(orm, name, None) for name in ("Session", "scoped_session"))
    return tuple(kind for kind in kinds if kind is not None)


def driver_of(connection: Connection) -> psycopg.Connection[Any]:
    """The psycopg connection under SQLAlchemy's; raises UnsupportedHandle for another driver."""
    return as_psycopg(connection.connection.driver_connection)


def as_psycopg(driver: object) -> psycopg.Connection[Any]:
    """The driver's connection; raises UnsupportedHandle when it is not one of psycopg's."""
    if isinstance(driver, psycopg.Connection):
        return driver
    if isinstance(driver, psycopg.AsyncConnection):
        raise UnsupportedHandle(
            "The connection's driver is asynchronous.", hint="Enqueue in a synchronous session."
        )
    raise UnsupportedHandle(
        f"The connection's driver is {type(driver).__module__}, and emq_sql speaks psycopg 3.",
        hint='Use the URL scheme "postgresql+psycopg://".',
    )


def commits_by_itself(conn: psycopg.Connection[Any]) -> bool:
    """Whether the next statement on this connection is a transaction of its own (autocommit)."""
    return conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE


def naming(conn: psycopg.Connection[Any]) -> AbstractContextManager[None]:
    """`named`, for what changes something: what breaks it off leaves its outcome unknown unless
    there is a caller's transaction, which ends with it.
    """
    return named(own_transaction=commits_by_itself(conn))


def committing(conn: psycopg.Connection[Any]) -> AbstractContextManager[None]:
    """`naming`, around a `conn.transaction()`: its end is a commit unless it is in another one."""
    idle = conn.info.transaction_status == TransactionStatus.IDLE
    return named(own_transaction=idle)


def cursor(conn: psycopg.Connection[Any]) -> psycopg.Cursor[tuple[Any, ...]]:
    """A cursor that answers tuples, whatever row or cursor factory the caller's connection has."""
    return legible(psycopg.Cursor(conn, row_factory=tuple_row))


def legible(cursor: psycopg.Cursor[Row]) -> psycopg.Cursor[Row]:
    """The same cursor; it reads text, JSON and instants in whatever client_encoding, DateStyle and
    IntervalStyle its connection has.
    """
    info = cursor.connection.info
    if info.encoding != "utf-8":
        # psycopg gives bytes where it is SQL_ASCII, and reads JSON as UTF8 in any case
        for name in ("text", "name"):
            cursor.adapters.register_loader(name, _Text)
            cursor.adapters.register_loader(name, _BinaryText)
        cursor.adapters.register_loader("jsonb", _Json)
        cursor.adapters.register_loader("jsonb", _BinaryJson)
    dates, intervals = map(info.parameter_status, ("DateStyle", "IntervalStyle"))
    if not (dates or "ISO").startswith("ISO") or (intervals or "postgres") != "postgres":
        cursor.format = Format.BINARY  # in text, psycopg reads the usual styles only
    return cursor


class _Text(Loader):
    def load(self, data: Buffer) -> str:
        encoding = self.connection.info.encoding if self.connection else "ascii"
        # SQL_ASCII says nothing of what the bytes are
        return bytes(data).decode("utf-8" if encoding == "ascii" else encoding, "replace")


class _Json(_Text):
    def load(self, data: Buffer) -> Any:
        return json.loads(super().load(data))


class _BinaryText(_Text):
    format = Format.BINARY


class _BinaryJson(_Json):
    format = Format.BINARY

    def load(self, data: Buffer) -> Any:
        return super().load(bytes(data)[1:])  # the first byte is the version of the format
