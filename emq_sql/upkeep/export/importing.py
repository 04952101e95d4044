"""An exported day is read into a table, for questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa

from emq_sql.errors import ExportDamaged
from emq_sql.protocol import exporting, importing
from emq_sql.protocol.adapt import committing
from emq_sql.upkeep.export import checking, choosing, manifest
from emq_sql.upkeep.export.manifest import Manifest
from emq_sql.upkeep.export.parts import batches
from emq_sql.upkeep.export.places import Place


@dataclass(frozen=True, slots=True)
class Imported:
    """A day, its rows, and how many of them the table did not have yet."""

    day: str
    rows: int
    added: int


def import_day(
    conn: psycopg.Connection[Any], schema: str, place: Place, table: str,
    ledger: str = "", listed: str = "",
) -> Imported:  # fmt: skip
    """All rows of the day in this place, or none: its files are checked before the first row.

    Where several exports lie the one that this ledger has on record is meant, or that of the
    `ledger` (its id), or by the manifest `listed` (its name). Raises ExportDamaged, BadName,
    BadSetting.
    """
    name = importing.table_name(conn, table, schema)
    there, _ = manifest.read(place, "")
    recorded = exporting.recorded(conn, schema, [one.checksum for one in there])
    found = checking.checked(place, "", choosing.chosen(place, "", recorded, ledger, listed))
    if found.manifest is None:
        raise ExportDamaged(found.damage or "The files are damaged.", hint="Nothing was imported.")
    with committing(conn), conn.transaction():
        importing.make(conn, name)
        came, added = importing.copy(conn, name, _pages(place, found.manifest))
        if came != found.manifest.rows:
            raise ExportDamaged(
                f"The files of {found.day} have {came} rows, and {found.manifest.rows} are listed.",
                hint="Nothing was imported.",
            )
    return Imported(found.day, came, added)


def _pages(place: Place, manifest: Manifest) -> Iterator[Iterator[tuple[Any, ...]]]:
    for part in manifest.parts:
        for rows in batches(place, part.name):
            yield zip(*(_values(column) for column in rows.columns), strict=True)


def _values(column: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return list(column.to_pylist())
