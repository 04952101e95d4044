"""Of several processes that want to migrate one database, one does, and the others wait for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, text

_KEY = "7305, hashtext('alembic')"
_TRY = text(f"select pg_try_advisory_lock({_KEY})")
_END = text(f"select pg_advisory_unlock({_KEY})")
_PAUSE = 0.2  # seconds


@contextmanager
def one_at_a_time(connection: Connection) -> Iterator[None]:
    """The block in env.py that configures and runs the migrations, in one process at a time.

    Who comes second waits, then reads what the first has done, and finds nothing left to do. The
    lock is the session's, so it holds through an `autocommit_block` and goes with a process that
    dies; it needs a direct connection, or a pooler in session mode.

    It is tried again and again rather than waited for: a statement that waits has a snapshot, and
    `create index concurrently` in the other process would wait for that.
    """
    while not connection.scalar(_TRY):
        connection.rollback()
        time.sleep(_PAUSE)
    # Alembic would take a transaction that is open for the caller's, and leave it uncommitted.
    connection.commit()
    try:
        yield
    finally:
        if not connection.invalidated and not connection.closed:
            connection.rollback()
            connection.execute(_END)
            connection.commit()
