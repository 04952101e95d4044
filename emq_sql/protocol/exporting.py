"""The export of the archive's days: what is closed, pages of rows, parts, records, retirement.

All on a connection in autocommit: each call is a transaction of its own. What is recorded of a day
is recorded under the fence that `begin` answered: when another session takes the day over, the
former one records nothing more (LeaseLost), with a pooler in between or without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import psycopg
from psycopg.rows import class_row

from emq_sql.protocol.adapt import cursor, legible
from emq_sql.protocol.bounded import WHOLE_DAY, longer
from emq_sql.protocol.isolation import settled
from emq_sql.protocol.troubles import named

Kind = Literal["text", "number", "instant", "json"]

# In the order of the row. A job's id, and JSON, are text; instants are microseconds since 1970.
COLUMNS: dict[str, Kind] = {
    "id": "text", "queue": "text", "task": "text", "status": "text", "attempts": "number",
    "stalled": "number", "failures": "number", "fence": "number", "worker": "text",
    "enqueued_at": "instant", "claimed_at": "instant", "lease_deadline": "instant",
    "finished_at": "instant", "priority": "number", "max_attempts": "number",
    "lease_ms": "number", "payload": "json", "headers": "json", "result": "json",
    "history": "json",
}  # fmt: skip
ID, FINISHED_AT = (list(COLUMNS).index(name) for name in ("id", "finished_at"))

Row = tuple[Any, ...]
Key = tuple[str, int]  # (id, finished_at): the order of the rows


@dataclass(frozen=True, slots=True)
class Begun:
    """What `begin` answered; `rows` are in the database now, `written` are in recorded parts."""

    status: str
    fence: int | None
    series: str | None
    version: int
    part: int
    rows: int
    written: int
    after: Key | None
    late: bool
    location: str | None


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a day's export, as it was when it was read back; its path is below the location."""

    version: int
    part: int
    rows: int
    bytes: int
    min_id: str
    max_id: str
    max_at: int
    checksum: str
    location: str
    path: str


@dataclass(frozen=True, slots=True)
class Exported:
    """The record of a day's export: all its files together. The checksum is the manifest's."""

    day: date
    version: int
    parts: int
    rows: int
    bytes: int
    checksum: str
    location: str
    verified: bool
    dropped: bool


def closed(conn: psycopg.Connection[Any], schema: str, day: date) -> tuple[str, str | None]:
    """Whether the day can still get a row: open, held (by whom, where known) or closed."""
    status, held_by = _one(conn, f"select status, held_by from {schema}.closed(%s)", [day])
    return status, held_by


def days(conn: psycopg.Connection[Any], schema: str, until: date) -> list[date]:
    """The days up to this one that have a partition of the archive, oldest first."""
    query = f"select day from {schema}.export_days(%s)"
    with named(), cursor(conn) as c:
        return [day for (day,) in c.execute(query.encode(), [until])]


def begin(conn: psycopg.Connection[Any], schema: str, day: date, location: str) -> Begun:
    """Take up the export of a day; `end` it when the status is ready."""
    query = (
        "select status, fence, series::text, version, part, rows, written, after_id::text,"
        f" {_micros('after_at')}, late, location from {schema}.export_begin(%s, %s)"
    )
    with longer(conn, WHOLE_DAY):  # the rows are counted
        found = _one(conn, query, [day, location])
    status, fence, series, version, part, rows, written, id, at, late, where = found
    return Begun(
        status, fence, series, version or 0, part or 0, rows or 0, written or 0,
        None if id is None else (id, at), bool(late), where,
    )  # fmt: skip


def extend(conn: psycopg.Connection[Any], schema: str, day: date, begun: Begun) -> None:
    """Say that the exporter is at work. Raises LeaseLost when it has the day no more."""
    _one(conn, f"select {schema}.export_extend(%s, %s)", [day, begun.fence])


def end(conn: psycopg.Connection[Any], schema: str, day: date, begun: Begun) -> None:
    """Let go of the day, if it is still held."""
    _one(conn, f"select {schema}.export_end(%s, %s)", [day, begun.fence])


def page(
    conn: psycopg.Connection[Any], schema: str, day: date, after: Key | None, limit: int
) -> list[Row]:
    """Rows behind this key, in their order, with the columns of COLUMNS.

    At most `limit`, and fewer when their JSON comes to some megabytes; none when there are no more.
    """
    wanted = ", ".join(
        _micros(name) if kind == "instant" else f"{name}::text" if name == "id" else name
        for name, kind in COLUMNS.items()
    )
    query = f"select {wanted} from {schema}.export_rows(%s, %s, {_INSTANT}, %s)"
    id, at = after or (None, None)
    with named(), cursor(conn) as c:
        return c.execute(query.encode(), [day, id, at, limit], binary=True).fetchall()


def add(conn: psycopg.Connection[Any], schema: str, day: date, begun: Begun, part: Part) -> None:
    """Record a file that was written and read back. Raises LeaseLost: then it is not recorded."""
    _one(
        conn,
        f"select {schema}.export_add(%s, %s, %s, %s, %s, %s, %s, %s, {_INSTANT}, %s, %s, %s)",
        [day, begun.fence, part.version, part.part, part.rows, part.bytes, part.min_id, part.max_id,
         part.max_at, part.checksum, part.location, part.path],
    )  # fmt: skip


def parts(conn: psycopg.Connection[Any], schema: str, day: date) -> list[Part]:
    """The recorded files of a day, those of an export that is not complete included."""
    query = (
        "select version, part, rows, bytes, min_id::text, max_id::text,"
        f" {_micros('max_at')} as max_at, checksum, location, path from {schema}.export_part"
        " where day = %s order by version, part"
    )
    with named(), legible(psycopg.Cursor(conn, row_factory=class_row(Part))) as c:
        return c.execute(query.encode(), [day]).fetchall()


def done(
    conn: psycopg.Connection[Any], schema: str, day: date, begun: Begun, location: str,
    checksum: str,
) -> None:  # fmt: skip
    """Record that the export of the day is complete and verified. Raises LeaseLost."""
    _one(
        conn, f"select {schema}.export_done(%s, %s, %s, %s, %s, %s)",
        [day, begun.fence, begun.version, begun.late, location, checksum],
    )  # fmt: skip


def records(conn: psycopg.Connection[Any], schema: str, location: str) -> list[Exported]:
    """What is recorded as exported to this location, oldest day first."""
    query = (
        "select day, version, parts, rows, bytes, checksum, location,"
        " verified_at is not null as verified, dropped_at is not null as dropped"
        f" from {schema}.exported where location = %s order by day"
    )
    with named(), legible(psycopg.Cursor(conn, row_factory=class_row(Exported))) as c:
        return c.execute(query.encode(), [location]).fetchall()


def recorded(conn: psycopg.Connection[Any], schema: str, checksums: Sequence[str]) -> set[str]:
    """Which of these are the checksums of manifests that this ledger has on record."""
    query = f"select checksum from {schema}.exported where checksum = any (%s)"
    with named(), cursor(conn) as c:
        return {checksum for (checksum,) in c.execute(query.encode(), [list(checksums)])}


def verified(
    conn: psycopg.Connection[Any], schema: str, record: Exported, damage: str | None
) -> bool:
    """Record what a look at the files has found; False when the record is another one by now."""
    query = f"select {schema}.export_verified(%s, %s, %s, %s)"
    return bool(_one(conn, query, [record.day, record.version, record.location, damage])[0])


def retire(
    conn: psycopg.Connection[Any], schema: str, day: date, limit: int
) -> Iterator[tuple[str, int]]:
    """Steps of retiring a day, each when it is asked for: its status and the rows that remain."""
    while True:
        query = f"select status, coalesce(remaining, 0) from {schema}.retire(%s, %s)"
        with longer(conn, WHOLE_DAY):  # the rows are counted, by the first step and by the last
            status, remaining = _one(conn, query, [day, limit])
        yield status, remaining


_INSTANT = "timestamptz 'epoch' + %s::bigint * interval '1 microsecond'"


def _micros(column: str) -> str:
    return f"(extract(epoch from {column}) * 1000000)::bigint"


def _one(conn: psycopg.Connection[Any], query: str, params: list[Any]) -> Row:
    with named(own_transaction=True), settled(conn), cursor(conn) as c:
        row = c.execute(query.encode(), params).fetchone()
        assert row is not None
        return row
