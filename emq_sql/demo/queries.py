"""The demo's SQL by name, written for the schemas of this run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from emq_sql.protocol import steps
from emq_sql.protocol.troubles import named
from emq_sql.rules import names

_QUALIFIER = re.compile(r"(?<![\w.])demo\.")
_FOLDER = Path(__file__).with_name("sql")

TABLES = ("file", "result", "measured")


@dataclass(frozen=True, slots=True)
class Schemas:
    """Where the ledger is, and where the demo's own tables are."""

    ledger: str = "emq"
    files: str = "demo"

    def text(self, name: str) -> str:
        """The statement of `sql/<name>.sql`, with these schemas for `emq` and `demo`."""
        return _text(name, self.ledger, self.files)


def rows(
    conn: psycopg.Connection[Any], schemas: Schemas, name: str, **params: Any
) -> list[dict[str, Any]]:
    """The rows that the statement answers."""
    with named(), psycopg.Cursor(conn, row_factory=dict_row) as cursor:
        return cursor.execute(schemas.text(name).encode(), params).fetchall()


@cache
def _text(name: str, ledger: str, files: str) -> str:
    text = (_FOLDER / f"{name}.sql").read_text()
    # The files first: a ledger may well be named "demo".
    text = _QUALIFIER.sub(f"{names.schema_name(files)}.", text)
    return steps.for_schema(text, ledger)
