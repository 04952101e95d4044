"""Several exporters, ledgers, or lives of one: no file that was written is written again."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections import Counter
from datetime import date
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from emq_sql.errors import BadSetting, ExportDamaged, ExportFailed
from emq_sql.protocol import steps
from emq_sql.upkeep.export import checking, choosing
from emq_sql.upkeep.export.importing import import_day
from emq_sql.upkeep.export.places import Directory
from tests.export import children
from tests.export.days import (
    close,
    exporter,
    filled,
    in_database,
    in_files,
    manifests,
    parts,
    recorded,
)
from tests.plugins.databases import Database
from tests.plugins.pgbouncer import PgBouncer
from tests.protocol.calls import Ledger

ROWS = 8000
SLOW = {"part": 100_000, "page": 100, "step": 1000}
SILENT = "update emq.export_claim set seen_at = seen_at - interval '5 min'"
SESSIONS_END = (
    "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
    " where datname = current_database() and pid <> pg_backend_pid()"
)


@pytest.fixture
def day(ledger: Ledger) -> date:
    found = filled(ledger, 10, ROWS)
    close(ledger, found)
    return found


def whole(folder: Path, day: date) -> bool:
    return [one.damage for one in checking.check_all(Directory(folder), str(day))] == [None]


def frozen_in_a_part(dsn: str, folder: Path, day: date) -> BaseProcess:
    """An exporter that was stopped while it had written some of a file, and not all."""
    child = children.start(dsn, folder, [day], sizes=SLOW)
    assert child.pid is not None
    until = time.monotonic() + 60
    while not any(path.stat().st_size for path in (folder / str(day)).glob(".part-*")):
        assert time.monotonic() < until
    os.kill(child.pid, signal.SIGSTOP)
    _stopped(child.pid)
    assert len(list((folder / str(day)).glob(".part-*"))) == 1
    return child


def _stopped(pid: int) -> None:
    until = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < until


@pytest.mark.parametrize("meanwhile", [SESSIONS_END, SILENT], ids=["session ends", "session lives"])
def test_a_frozen_exporter_that_wakes_harms_no_file_of_another(
    db: Database, ledger: Ledger, folder: Path, day: date, meanwhile: str
) -> None:
    ids = in_database(ledger, day)
    frozen = frozen_in_a_part(db.dsn, folder, day)
    assert frozen.pid is not None
    ledger.run(meanwhile)
    assert exporter(ledger, folder, day).export(drop=True) == ("dropped", ROWS)
    assert whole(folder, day)
    os.kill(frozen.pid, signal.SIGCONT)
    assert children.end(frozen) == 1
    assert whole(folder, day)
    assert in_files(folder, day) == recorded(ledger, folder) == ids
    assert [path.name for path in folder.rglob(".*")] == []


def test_two_exporters_behind_a_pooler_record_each_row_once(
    pgbouncer: PgBouncer, ledger: Ledger, folder: Path, day: date
) -> None:
    """And each takes the day from the other whenever it looks: it finds it silent."""
    ids = in_database(ledger, day)
    sizes = [{"part": 700, "page": 100, "step": 1000}, {"part": 3000, "page": 100, "step": 500}]
    both = [children.start(pgbouncer.dsn, folder, [day], sizes=one) for one in sizes]
    while any(child.is_alive() for child in both):
        ledger.run(SILENT)
    codes = [children.end(child) for child in both]
    assert 0 in codes
    assert in_database(ledger, day) == Counter()
    assert in_files(folder, day) == recorded(ledger, folder) == ids
    assert whole(folder, day)


def test_a_place_that_has_the_day_of_another_ledger_is_refused(
    ledger: Ledger, folder: Path, day: date
) -> None:
    ids = in_database(ledger, day)
    exporter(ledger, folder, day).export()
    ledger.run("update emq.meta set ledger_id = gen_random_uuid()")
    ledger.rows("select emq.export_forget(%s)", day)
    before = sorted(path.read_bytes() for path in folder.rglob("*.*"))
    with pytest.raises(ExportFailed, match="of another ledger"):
        exporter(ledger, folder, day).export(drop=True)
    assert sorted(path.read_bytes() for path in folder.rglob("*.*")) == before
    assert in_database(ledger, day) == ids
    assert exporter(ledger, folder / "mine", day).export(drop=True) == ("dropped", ROWS)


def test_an_export_of_which_no_record_is_left_stays_beside_the_next(
    db: Database, ledger: Ledger, folder: Path
) -> None:
    """Its files may be the only copy of rows that the next one has not."""
    day = filled(ledger, 10, 30)
    close(ledger, day)
    exporter(ledger, folder, day).export()
    (first,) = manifests(folder, day)
    files = {path: path.read_bytes() for path in parts(folder, day)}
    with db.connect() as conn:
        steps.downgrade(conn, to=3)
        ledger.run("delete from emq.archive where id in (select id from emq.archive limit 10)")
        steps.upgrade(conn)
    close(ledger, day)
    exporter(ledger, folder, day).export()
    assert {path: path.read_bytes() for path in files} == files
    place = Directory(folder / str(day))
    with pytest.raises(BadSetting, match="know nothing of one another"):
        choosing.chosen(place, "")
    assert [one.damage for one in checking.check_all(place, "")] == [None, None]
    assert checking.strays(place, "", checking.check_all(place, "")) == []
    assert import_day(ledger.conn, "emq", place, "recorded").rows == 20
    assert import_day(ledger.conn, "emq", place, "former", listed=first.name).rows == 30
    ledger.run("update emq.exported set checksum = %s", "0" * 64)
    with pytest.raises(BadSetting, match=f"--manifest {first.name}"):
        import_day(ledger.conn, "emq", place, "history")
    with pytest.raises(ExportDamaged, match="no such manifest"):
        import_day(ledger.conn, "emq", place, "history", ledger="none")
    ledger.run("delete from emq.job")


def test_a_file_whose_record_was_not_written_is_named(
    db: Database, ledger: Ledger, folder: Path
) -> None:
    day = filled(ledger, 10, 30)
    close(ledger, day)
    child = children.start(db.dsn, folder, [day], crash_at="part-written")
    assert children.end(child) == -signal.SIGKILL
    (stray,) = parts(folder, day)
    assert exporter(ledger, folder, day).export(drop=True) == ("dropped", 30)
    checked = checking.check_all(Directory(folder), str(day))
    assert checking.strays(Directory(folder), str(day), checked) == [stray.name]
    assert set(in_files(folder, day).values()) == {1}


@pytest.mark.parametrize("links", [True, False])
def test_a_name_that_is_taken_is_not_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:

        def refuse(*_: object) -> None:
            raise OSError(errno.EPERM, "a file system without links")

        monkeypatch.setattr(Path, "hardlink_to", refuse)
    place = Directory(tmp_path)
    with place.write("day/a") as file:
        file.write(b"first")
    with pytest.raises(ExportFailed, match="exists"), place.write("day/a") as file:
        file.write(b"second")
    assert place.read("day/a") == b"first"
    assert place.names("day") == ["a"]
