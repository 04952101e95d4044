"""Bounds what is asked on a connection of our own while SQLAlchemy opens it.

The driver's connect_timeout ends with the handshake. SQLAlchemy's first questions and the listeners
of the application come after it, and a server that has fallen silent by then answers none of them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import sqlalchemy
from sqlalchemy.pool import Pool

from emq_sql.errors import Retryable
from emq_sql.protocol.silence import CallLimit

LIMIT = 5.0  # seconds in all


class _Current(threading.local):
    limit: float | None = None
    connection: psycopg.Connection[Any] | None = None
    calls: CallLimit | None = None


_current = _Current()


def _begin(connection: object, _record: object) -> None:
    limit = _current.limit
    if limit is not None and _current.calls is None and isinstance(connection, psycopg.Connection):
        _current.connection = connection
        _current.calls = CallLimit(connection)
        _current.calls.begin(limit)


# Of the class, and first: those that an application has set on it are run before a pool's own.
for _event in ("connect", "first_connect"):
    sqlalchemy.event.listen(Pool, _event, _begin, insert=True)


@contextmanager
def bounded(limit: float) -> Iterator[None]:
    """The connection that this thread opens in the block may take so long once it is connected.

    Raises Retryable when it took longer; whatever is raised, the connection is closed then.
    """
    _current.limit, _current.calls, _current.connection = limit, None, None
    try:
        yield
    except BaseException as error:
        if _current.connection is not None:
            _current.connection.close()
        if (calls := _current.calls) is not None and calls.over:
            raise Retryable(
                f"The server took the connection and did not answer within {limit:g} s.",
                hint="No connection was made: is it up, or something between that hangs?",
            ) from error
        raise
    finally:
        calls, _current.limit = _current.calls, None
        _current.calls = _current.connection = None
        if calls is not None:
            calls.close()
