"""Rows that come after the export go into further files; the former ones stay as they are."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from emq_sql.errors import ExportDamaged, ExportFailed
from emq_sql.upkeep.export.day import Told
from emq_sql.upkeep.export.importing import import_day
from emq_sql.upkeep.export.places import Directory
from tests.export.days import close, exporter, filled, in_database, in_files
from tests.protocol.calls import Ledger


@pytest.fixture
def day(ledger: Ledger) -> date:
    found = filled(ledger, 10, 2500)
    close(ledger, found)
    return found


def come_late(ledger: Ledger, day: date, *names: str) -> None:
    """Jobs of a day that is over; their ids lie anywhere among the others."""
    for name in names:
        given = {"id": ledger.one("select emq.job_id(%s, %s)", name, day), "day": day}
        ledger.conn.execute(
            "insert into emq.job (id, enqueued_at, priority, queue, task, payload)"
            """ values (%(id)s, %(day)s, 2, 'late', 't', '{"late": true}')""", given,
        )  # fmt: skip
        ledger.conn.execute(
            "insert into emq.archive (id, finished_at, attempts, stalled, failures, status, queue)"
            " values (%(id)s, %(day)s::timestamptz + interval '1 h', 0, 0, 0, 'cancelled', 'late')",
            given,
        )


def test_late_rows_are_exported_beside_the_others(ledger: Ledger, folder: Path, day: date) -> None:
    work = exporter(ledger, folder, day)
    assert work.export() == ("exported", 2500)
    before = [path.read_bytes() for path in sorted(folder.rglob("*.parquet"))]
    come_late(ledger, day, "a", "b")
    assert work.export() == ("exported", 2)
    come_late(ledger, day, "c")
    whole = in_database(ledger, day)
    assert work.export(drop=True) == ("dropped", 1)
    after = [path.read_bytes() for path in sorted(folder.rglob("*.parquet"))]
    assert after[: len(before)] == before
    assert in_files(folder, day) == whole
    assert ledger.one("select version = 3 and rows = 2503 and removed = 2503 from emq.exported")
    import_day(ledger.conn, "emq", Directory(folder / str(day)), "history")
    assert ledger.one("select count(*) from history where payload @> '{\"late\": true}'") == 3


def test_rows_that_come_while_a_day_is_exported_and_retired_are_not_lost(
    ledger: Ledger, folder: Path, day: date
) -> None:
    come = iter(["a", "b", "c", "d", "e", "f"])
    told: list[Told] = []

    def meanwhile(news: Told) -> None:
        told.append(news)
        if len(told) in (2, 6):
            come_late(ledger, day, next(come))

    work = exporter(ledger, folder, day, tell=meanwhile)
    assert work.export(drop=True) == ("dropped", 2502)
    assert {news.doing for news in told} == {"exporting", "retiring"}
    files = in_files(folder, day)
    assert (len(files), set(files.values())) == (2502, {1})
    import_day(ledger.conn, "emq", Directory(folder / str(day)), "history")
    assert ledger.one("select count(*) from history where payload is null") == 0


def test_late_rows_are_not_told_by_a_damaged_file(ledger: Ledger, folder: Path, day: date) -> None:
    work = exporter(ledger, folder, day)
    work.export()
    part = sorted(folder.rglob("*.parquet"))[1]
    part.write_bytes(part.read_bytes()[:-1])
    come_late(ledger, day, "a")
    with pytest.raises(ExportDamaged, match=r"part-001-00001-\w+\.parquet .* has changed"):
        work.export(drop=True)
    assert ledger.one("select count(*) from emq.archive") == 2501


def test_rows_that_somebody_deleted_by_hand_are_missed(
    ledger: Ledger, folder: Path, day: date
) -> None:
    work = exporter(ledger, folder, day)
    work.export()
    gone = "select id from emq.archive limit 1"
    ledger.run(f"with g as ({gone}) delete from emq.archive a using g where a.id = g.id")
    with pytest.raises(ExportFailed, match="deleted them by hand"):
        work.export(drop=True)
    ledger.run("delete from emq.job")
