"""Calls a function of the ledger in a caller's transaction, through whatever driver that has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from sqlalchemy.engine import Connection

from emq_sql.errors import EmqError
from emq_sql.protocol.adapt import cursor, driver_connection
from emq_sql.protocol.troubles import foreign, named


@dataclass(frozen=True, slots=True)
class Speaker:
    """Calls functions on one connection; `driver` is that connection, as its driver has it."""

    driver: Any
    _cursor: Callable[[], Any]
    _numbered: bool = False  # the driver writes $1 where psycopg writes %s

    def call(
        self, function: str, types: Sequence[str], values: Sequence[object],
        only_if: str | None = None,
    ) -> Any:  # fmt: skip
        """What a function answers; null, and it is not called, where `only_if` does not hold.

        Values go as text, or null, and are cast on the server, so that no driver's own idea of a
        type comes in between.
        """
        marks = (f"${n}" if self._numbered else "%s" for n in range(1, len(types) + 1))
        casts = ", ".join(f"{mark}::text::{to}" for mark, to in zip(marks, types, strict=True))
        call = f"{function}({casts})"
        if only_if is not None:
            call = f"case when {only_if} then {call} end"
        texts = tuple(None if value is None else str(value) for value in values)
        with _named(), closing(self._cursor()) as c:
            c.execute(f"select {call}", texts)
            row = c.fetchone()
        return next(iter(row.values())) if isinstance(row, Mapping) else row[0]


def speaker(handle: object) -> Speaker:
    """For a Session, a Connection or a psycopg Connection; raises as `driver_connection` does."""
    driver = driver_connection(handle)
    return Speaker(driver, lambda: cursor(driver))


def speaker_of(connection: Connection) -> Speaker:
    """For a Connection with any driver, an asynchronous one's in `run_sync` among them.

    The cursor is the pool's, so that an adapter knows of the transaction that this may begin.
    """
    pooled = connection.connection
    if isinstance(pooled.driver_connection, psycopg.Connection):
        return speaker(connection)
    numbered = connection.dialect.paramstyle == "numeric_dollar"
    return Speaker(pooled.driver_connection, pooled.cursor, numbered)


@contextmanager
def _named() -> Iterator[None]:
    try:
        with named():
            yield
    except EmqError:
        raise
    except Exception as error:
        ours = foreign(error)
        if ours is None:
            raise
        raise ours from error
