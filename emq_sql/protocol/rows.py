"""Rows as dicts, for those who read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg.rows import dict_row

from emq_sql.protocol.adapt import legible
from emq_sql.protocol.troubles import named

Row = dict[str, Any]


def read(
    conn: psycopg.Connection[Any], query: str, params: Sequence[Any] | Mapping[str, Any] = ()
) -> list[Row]:
    """What the query answers; instants that Python has no word for are legible."""
    with named(), legible(psycopg.Cursor(conn, row_factory=dict_row)) as c:
        return c.execute(query.encode(), params).fetchall()
