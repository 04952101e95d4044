"""The lab's SQL by name, written for the schema of this run, which holds its tables as well."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from emq_sql.lab.grid import Cell
from emq_sql.protocol import steps
from emq_sql.protocol.troubles import named

_FOLDER = Path(__file__).with_name("sql")

TABLES = ("effect", "run")


@cache
def statement(name: str, schema: str) -> str:
    """The statement of `sql/<name>.sql`, with this schema for `emq`."""
    return steps.for_schema((_FOLDER / f"{name}.sql").read_text(), schema)


def about(
    conn: psycopg.Connection[Any], schema: str, name: str, jobs: Sequence[tuple[Cell, UUID]]
) -> list[dict[str, Any]]:
    """What the statement answers about these cells and their jobs."""
    params = {"cells": [cell.number for cell, _ in jobs], "jobs": [job for _, job in jobs]}
    with named(), psycopg.Cursor(conn, row_factory=dict_row) as cursor:
        return cursor.execute(statement(name, schema).encode(), params).fetchall()
