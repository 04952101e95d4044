"""The archive, asked: search, what was in flight at an instant, which days are kept.

A question has a timeout of its own, in its transaction alone: it reads whole days, and nobody else
waits for it meanwhile. Nothing is changed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from emq_sql.errors import TookTooLong
from emq_sql.protocol.adapt import cursor, legible
from emq_sql.protocol.rows import Row, read
from emq_sql.protocol.troubles import named

Status = Literal["completed", "cancelled", "discarded"]

TIMEOUT = timedelta(seconds=10)
MOST_FOUND = 1000
MOST_IN_FLIGHT = 10_000


class Wanted(TypedDict, total=False):
    """What is said of finished jobs; all of it must hold, and of a sequence one member.

    `error` is a part of the text of an error of its attempts, or of the dead letter that it was;
    `payload` an object that its arguments contain; `finished_after` (then or later) and
    `finished_before` are aware datetimes.
    """

    id: UUID | Sequence[UUID]
    task: str | Sequence[str]
    queue: str | Sequence[str]
    worker: str | Sequence[str]
    status: Status | Sequence[Status]
    error: str
    finished_after: datetime
    finished_before: datetime
    payload: Mapping[str, object]


def search(
    conn: psycopg.Connection[Any], schema: str, wanted: Wanted, limit: int = 100,
    timeout: timedelta = TIMEOUT,
) -> list[Row]:  # fmt: skip
    """Finished jobs, newest first, `limit` of them and never more than MOST_FOUND.

    Raises BadName for what cannot be said of a finished job, TookTooLong after `timeout`.
    """
    advice = "Narrow it: finished_after and finished_before, an id, a queue; or give it longer."
    query = f"select * from {schema}.search(%s::jsonb, %s)"
    return _asked(conn, query, [json.dumps(wanted, default=_plain), limit], timeout, advice)


def as_of(
    conn: psycopg.Connection[Any], schema: str, at: datetime, limit: int = 1000,
    longest: timedelta | None = timedelta(days=1), timeout: timedelta = TIMEOUT,
) -> list[Row]:  # fmt: skip
    """What was in flight at that instant of the server's clock, the oldest claims first.

    Claims that ended more than `longest` after it are left out (None: none is, and all days since
    are read). Of an instant to come there is nothing. Raises TookTooLong after `timeout`.
    """
    advice = "Give a shorter time that claims may have run (--longest), or give it longer."
    query = f"select * from {schema}.as_of(%s::timestamptz, %s, %s::interval)"
    return _asked(conn, query, [at, limit, longest], timeout, advice)


def days(conn: psycopg.Connection[Any], schema: str) -> list[Row]:
    """The days that are kept, oldest first: rows (estimated), bytes, what becomes of them."""
    return read(conn, f"select * from {schema}.kept_days()")


def _asked(
    conn: psycopg.Connection[Any], query: str, params: list[Any], timeout: timedelta, advice: str
) -> list[Row]:
    rows = psycopg.Cursor(conn, row_factory=dict_row)
    with named(), _within(conn, timeout, advice), legible(rows) as c:
        return c.execute(query.encode(), params).fetchall()


@contextmanager
def _within(conn: psycopg.Connection[Any], timeout: timedelta, advice: str) -> Iterator[None]:
    """A transaction, or a part of the caller's, in which no statement takes longer."""
    milliseconds = max(1, round(timeout / timedelta(milliseconds=1)))
    try:
        with conn.transaction(), cursor(conn) as c:
            before = c.execute("select current_setting('statement_timeout')").fetchone()
            c.execute(_SET, [f"{milliseconds}ms"])
            yield
            c.execute(_SET, before)
    except psycopg.errors.QueryCanceled as error:
        raise TookTooLong(
            f"The answer took longer than {timeout.total_seconds():g} s.", hint=advice
        ) from error


_SET = "select set_config('statement_timeout', %s, true)"


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
