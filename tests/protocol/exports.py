"""The SQL side of an export, as an exporter in any language speaks it; files are its own."""

from __future__ import annotations

from datetime import date
from typing import Any, NamedTuple, cast
from uuid import UUID

from tests.protocol.calls import Ledger

HERE = "/exports"
CHECKSUM = "0" * 64


class Begun(NamedTuple):
    """What export_begin answered."""

    status: str
    fence: int | None
    version: int
    part: int
    rows: int
    written: int
    after: UUID | None
    late: bool


def begin(ledger: Ledger, day: date, location: str = HERE) -> Begun:
    return Begun(
        *ledger.row(
            "select status, fence, version, part, rows, written, after_id, late"
            " from emq.export_begin(%s, %s)", day, location,
        )
    )  # fmt: skip


def end(ledger: Ledger, day: date, begun: Begun) -> None:
    ledger.rows("select emq.export_end(%s, %s)", day, begun.fence)


def page(ledger: Ledger, day: date, after: Any = None, limit: int = 100) -> list[Any]:
    """(id, finished_at) of the next rows."""
    id, at = after or (None, None)
    return ledger.rows(
        "select id, finished_at from emq.export_rows(%s, %s, %s, %s)", day, id, at, limit
    )


def add(
    ledger: Ledger, day: date, begun: Begun, part: int, rows: list[Any], location: str = HERE
) -> None:
    """Record a file with these rows."""
    ledger.rows(
        "select emq.export_add(%s, %s, %s, %s, %s, 1000, %s, %s, %s, %s, %s, %s)",
        day, begun.fence, begun.version, part, len(rows), rows[0][0], rows[-1][0], rows[-1][1],
        CHECKSUM, location, f"{day}/part-{part}",
    )  # fmt: skip


def done(ledger: Ledger, day: date, begun: Begun, location: str = HERE) -> None:
    ledger.rows(
        "select emq.export_done(%s, %s, %s, %s, %s, %s)",
        day, begun.fence, begun.version, begun.late, location, CHECKSUM,
    )  # fmt: skip


def exported(
    ledger: Ledger, day: date, location: str = HERE, known: set[UUID] | None = None
) -> Begun:
    """Export the day in one file, of rows that are not among the known ids."""
    begun = begin(ledger, day, location)
    assert begun.status == "ready", begun
    rows = [row for row in page(ledger, day) if row[0] not in (known or set())]
    if rows:
        add(ledger, day, begun, begun.part, rows, location)
    done(ledger, day, begun, location)
    end(ledger, day, begun)
    return begun


def record(ledger: Ledger, day: date, column: str) -> Any:
    """A column of the day's record."""
    return ledger.one(f"select {column} from emq.exported where day = %s", day)


def partition(ledger: Ledger, day: date) -> bool:
    return bool(ledger.one("select to_regclass(%s) is not null", f"emq.archive_{day:%Y%m%d}"))


def retired(ledger: Ledger, day: date) -> list[str]:
    """The answers of retire, step by step, until it is no longer `more`."""
    answers: list[str] = []
    while not answers or answers[-1] == "more":
        answers.append(cast(str, ledger.retire(day, 10)[0]))
    return answers
