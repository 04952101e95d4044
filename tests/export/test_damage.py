"""Files that are not what was written are noticed, and no row goes that is only in them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from emq_sql.errors import BadName, BadSetting, ExportDamaged, ExportFailed
from emq_sql.protocol import exporting
from emq_sql.upkeep.export import checking
from emq_sql.upkeep.export.day import Stopped, Told
from emq_sql.upkeep.export.importing import import_day
from emq_sql.upkeep.export.parts import batches
from emq_sql.upkeep.export.places import Directory
from tests.export.days import close, exporter, filled, in_database, in_files, manifests, parts
from tests.protocol.calls import Ledger

BLOCK = 4096  # of a tmpfs


@pytest.fixture
def day(ledger: Ledger) -> date:
    found = filled(ledger, 10, 1500)
    close(ledger, found)
    return found


def flip(path: Path) -> None:
    """One bit in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def damage(folder: Path, day: date) -> str | None:
    (found,) = checking.check_all(Directory(folder), str(day))
    return found.damage


def test_any_change_to_any_file_is_noticed(ledger: Ledger, folder: Path, day: date) -> None:
    exporter(ledger, folder, day).export()
    assert damage(folder, day) is None
    (record,) = exporting.records(ledger.conn, "emq", str(folder))
    (listed,) = manifests(folder, day)
    files = parts(folder, day)
    assert sorted((folder / str(day)).iterdir()) == [listed, *files]
    assert len(files) == 2
    for file in files:
        content = file.read_bytes()
        for change in (flip, lambda path: path.write_bytes(b""), Path.unlink):
            change(file)
            assert file.name in str(damage(folder, day))
            file.write_bytes(content)
    manifest = json.loads(listed.read_text())
    manifest["parts"].pop()
    listed.write_text(json.dumps(manifest))
    assert "counts other rows" in str(damage(folder, day))
    manifest["rows"] = sum(part["rows"] for part in manifest["parts"])
    listed.write_text(json.dumps(manifest))
    assert damage(folder, day) is None
    found = checking.check(Directory(folder), str(day), record)
    assert "that is recorded is missing" in str(found.damage)
    listed.write_text("{}")
    assert "cannot be read" in str(damage(folder, day))
    listed.unlink()
    assert "There is no manifest" in str(damage(folder, day))


def test_damage_stops_the_drop_and_another_export_makes_it_good(
    ledger: Ledger, folder: Path, day: date
) -> None:
    work = exporter(ledger, folder, day)
    work.export()
    flip(parts(folder, day)[1])
    with pytest.raises(ExportDamaged, match="has changed since it was written"):
        work.export(drop=True)
    assert ledger.retire(day)[0] == "unexported"
    whole = in_database(ledger, day)
    assert len(whole) == 1500
    assert work.export(drop=True) == ("dropped", 1500)
    assert in_files(folder, day) == whole
    assert damage(folder, day) is None


def test_files_of_a_run_that_was_stopped_are_looked_at_before_it_goes_on(
    ledger: Ledger, folder: Path, day: date
) -> None:
    told: list[Told] = []
    work = exporter(ledger, folder, day, tell=told.append, stopping=lambda: bool(told))
    with pytest.raises(Stopped):
        work.export(drop=True)
    (part,) = parts(folder, day)
    whole = part.read_bytes()
    flip(part)
    again = exporter(ledger, folder, day)
    with pytest.raises(ExportDamaged, match="export_forget"):
        again.export(drop=True)
    assert len(in_database(ledger, day)) == 1500
    part.write_bytes(whole)
    assert again.export(drop=True) == ("dropped", 300)  # three pages of 400 were in the file


def test_a_file_that_reads_back_otherwise_is_not_recorded(
    ledger: Ledger, folder: Path, day: date
) -> None:
    """The storage changes it between the writing and the reading."""

    class Worn(Directory):
        @contextmanager
        def write(self, path: str, check: Callable[[str], None] = print) -> Iterator[Any]:
            def worn(lying: str) -> None:
                if "-00001-" in path:
                    (self._root / lying).write_bytes(parts(folder, day)[0].read_bytes())
                check(lying)

            with super().write(path, worn) as file:
                yield file

    work = exporter(ledger, folder, day)
    work.place = Worn(folder)
    with pytest.raises(ExportDamaged, match="holds other rows"):
        work.export(drop=True)
    assert ledger.column("select part from emq.export_part") == [0]
    assert ledger.retire(day)[0] == "unexported"


def test_a_full_disk_leaves_the_partition_and_the_export_goes_on_when_there_is_room(
    ledger: Ledger, tmp_path: Path, day: date
) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    with small_disk(folder):
        work = exporter(ledger, folder, day)
        work.export()
        first, _ = parts(folder, day)
        room = -(-first.stat().st_size // BLOCK) * BLOCK
        shutil.rmtree(folder / str(day))
        ledger.rows("select emq.export_forget(%s)", day)
        fill(folder / "ballast", leave=room + BLOCK)  # for the first file, and not for the second
        with pytest.raises(ExportFailed, match="No space left"):
            work.export(drop=True)
        assert ledger.column("select part from emq.export_part") == [0]
        assert len(in_database(ledger, day)) == 1500
        assert ledger.retire(day)[0] == "unexported"
        assert list(folder.rglob(".*")) == []
        (folder / "ballast").unlink()
        whole = in_database(ledger, day)
        assert work.export(drop=True)[0] == "dropped"
        assert in_files(folder, day) == whole


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk that is small")
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(ballast: Path, leave: int) -> None:
    """Take all the room there is but so many bytes."""
    free = os.statvfs(ballast.parent)
    assert free.f_bsize == BLOCK
    ballast.write_bytes(b"x" * (free.f_bavail * free.f_bsize - leave))


def test_nothing_is_imported_from_damaged_files_or_into_a_table_of_another_make(
    ledger: Ledger, folder: Path, day: date
) -> None:
    exporter(ledger, folder, day).export()
    place = Directory(folder / str(day))
    with pytest.raises(BadName, match="ledger's own schema"):
        import_day(ledger.conn, "emq", place, "emq.history")
    with pytest.raises(BadName):
        import_day(ledger.conn, "emq", place, "a.b.c")
    ledger.run("create table mine (id uuid)")
    with pytest.raises(BadSetting, match="other columns"):
        import_day(ledger.conn, "emq", place, "mine")
    flip(parts(folder, day)[1])
    with pytest.raises(ExportDamaged):
        import_day(ledger.conn, "emq", place, "history")
    assert ledger.one("select to_regclass('history')") is None


def test_a_file_that_is_no_parquet_is_said_to_be_damaged(folder: Path) -> None:
    folder.mkdir()
    (folder / "part-00000.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(ExportDamaged, match="cannot be read"):
        list(batches(Directory(folder), "part-00000.parquet"))
