"""An exported day in a table of the caller's: made when missing, filled by COPY, never twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg import sql

from emq_sql.errors import BadName, BadSetting, Refused
from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.bounded import WHOLE_DAY, longer
from emq_sql.protocol.exporting import COLUMNS, Row
from emq_sql.protocol.troubles import named

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TYPES = {"text": "text", "number": "bigint", "instant": "timestamptz", "json": "jsonb"}
_LONGEST = 63
_UNDEFINED_CONSTRAINT = "42P10"


def table_name(conn: psycopg.Connection[Any], text: str, schema: str) -> sql.Identifier:
    """The table that `name` or `schema.name` says, outside the ledger's schema. Raises BadName."""
    parts = text.split(".")
    if len(parts) > 2 or not all(0 < len(p.encode()) <= _LONGEST and "\0" not in p for p in parts):
        raise BadName(
            f"No table can be called {text!r}.", hint="Write name or schema.name, as it is stored."
        )
    if len(parts) == 1:
        with named(), cursor(conn) as c:
            (current,) = c.execute("select current_schema()").fetchone() or (None,)
        parts = [current or "public", *parts]
    if parts[0] == schema:
        raise BadName(
            f"The table {text} would be in the ledger's own schema.",
            hint="Name another schema: the import is for questions, not for jobs.",
        )
    return sql.Identifier(*parts)


def make(conn: psycopg.Connection[Any], table: sql.Identifier) -> None:
    """The table, unless there is one; raises BadSetting when that one has other columns."""
    columns = sql.SQL(", ").join(
        sql.SQL(f"{{}} {_type(name)}").format(sql.Identifier(name)) for name in COLUMNS
    )
    key = sql.SQL("primary key (id, finished_at)")
    with named(), _allowed(), cursor(conn) as c:
        c.execute(sql.SQL("create table if not exists {} ({}, {})").format(table, columns, key))
        c.execute(sql.SQL("select * from {} limit 0").format(table))
        there = [column.name for column in c.description or ()]
    if there != list(COLUMNS):
        raise BadSetting(
            f"The table {table.as_string(conn)} has other columns than an import.",
            hint="Name a table that is not there yet, or one that an import has made.",
        )


def copy(
    conn: psycopg.Connection[Any], table: sql.Identifier, pages: Iterable[Iterable[Sequence[Any]]]
) -> tuple[int, int]:
    """Rows into a table that `make` has made: how many came, and how many were not there yet.

    In the caller's transaction.
    """
    staged = sql.Identifier("emq_import")
    with named(), _allowed(), cursor(conn) as c:
        c.execute(
            sql.SQL("create temporary table {} (like {}) on commit drop").format(staged, table)
        )
        with c.copy(sql.SQL("copy pg_temp.{} from stdin").format(staged)) as into:
            for page in pages:
                for row in page:
                    into.write_row(_stored(row))
        came = c.rowcount
        try:
            with longer(conn, WHOLE_DAY):  # the rows of a day; COPY is bounded buffer by buffer
                c.execute(
                    sql.SQL(
                        "insert into {} select * from pg_temp.{}"
                        " on conflict (id, finished_at) do nothing"
                    ).format(table, staged)
                )
        except psycopg.Error as error:
            if error.sqlstate != _UNDEFINED_CONSTRAINT:
                raise
            raise BadSetting(
                f"The table {table.as_string(conn)} has no key (id, finished_at), and rows could"
                " be doubled.",
                hint="Name a table that is not there yet, or one that an import has made.",
            ) from error
        return came, c.rowcount


@contextmanager
def _allowed() -> Iterator[None]:
    """Rights are wanting outside the ledger here, where its roles are no remedy."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise Refused(
            f"The import may not: {error.diag.message_primary}.",
            hint="The role needs CREATE on the table's schema, or SELECT and INSERT on a table that"
            " an import has made; and TEMPORARY on the database.",
        ) from error


def _type(name: str) -> str:
    return "uuid" if name == "id" else _TYPES[COLUMNS[name]]


def _stored(row: Sequence[Any]) -> Row:
    return tuple(
        _EPOCH + timedelta(microseconds=value) if kind == "instant" and value is not None else value
        for value, kind in zip(row, COLUMNS.values(), strict=True)
    )
