"""Which days there are to export, oldest first, and which of them are closed for good."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from typing import Any

import psycopg

from emq_sql.protocol import exporting

PATIENCE = 5.0  # seconds for transactions that began before a day was over
PAUSE = 0.1


def days(conn: psycopg.Connection[Any], schema: str, day: date | None, until: date) -> list[date]:
    """This day, or all up to `until` that are in the database."""
    found = exporting.days(conn, schema, until if day is None else day)
    return [one for one in found if day is None or one == day]


def closed(
    conn: psycopg.Connection[Any], schema: str, day: date, stopping: Callable[[], bool]
) -> str | None:
    """None when no row can come to the day any more, else why not yet, in words.

    Transactions that are about to end are waited for.
    """
    until = time.monotonic() + PATIENCE
    while True:
        status, held_by = exporting.closed(conn, schema, day)
        if status == "closed":
            return None
        if status == "open":
            return "it is not over by an hour"
        if time.monotonic() > until or stopping():
            return f"transactions of that day go on: {held_by or 'they are not to be seen'}"
        time.sleep(PAUSE)
