"""The health file is whole whenever it is read, and a stale one is no yes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from emq_sql.errors import BadSetting
from emq_sql.worker.health import file as health_file
from emq_sql.worker.health.condition import LIVE_WITHIN, Bounds
from emq_sql.worker.health.file import HealthFile, ask
from emq_sql.worker.health.report import Facts, Reporter
from emq_sql.worker.loops import Loop
from emq_sql.worker.pulse import Pulse

FACTS = Facts("host:1:ab", ("default",), "threads", 4, {"emq_sql": "0" * 10_000})


def written(path: Path, pulse: Pulse) -> HealthFile:
    return HealthFile(path, Reporter(FACTS, pulse, Bounds(LIVE_WITHIN, LIVE_WITHIN)), pulse)


def test_a_reader_finds_a_whole_report_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_file, "EVERY", 0.0)
    path, pulse = tmp_path / "health", Pulse()
    file = written(path, pulse)
    file.check()
    thread = threading.Thread(target=file.run)
    thread.start()
    seen = {json.loads(path.read_bytes())["at"] for _ in range(3000)}
    file.stop()
    thread.join(30)
    assert len(seen) > 1, "it was written while it was read"
    assert list(tmp_path.iterdir()) == [], "it is removed at the end, and nothing is left"


def test_the_file_answers_as_the_worker_would(tmp_path: Path) -> None:
    path, pulse = tmp_path / "health", Pulse()
    file = written(path, pulse)
    file.check()
    assert ask(path, "live") == (True, "live")
    assert ask(path, "ready") == (False, "not ready: nothing was claimed yet")
    pulse.claims()
    file.check()
    assert ask(path, "ready") == (True, "ready")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'"live"', b"{}", b'{"at": 1}', b'{"at": "2026-11-29T00:00:00"}',
     b'{"at": "2026-11-29T00:00:00+00:00", "why_not": 7}', b"\xff\xfe", b"[" * 100_000],
)  # fmt: skip
def test_another_file_is_no_yes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "health"
    path.write_bytes(content)
    yes, said = ask(path, "live")
    assert not yes and said.endswith("is no health file")


def test_no_file_is_no_yes(tmp_path: Path) -> None:
    yes, said = ask(tmp_path / "health", "live")
    assert not yes and "No such file" in said
    assert not ask(tmp_path, "live")[0]


@pytest.mark.parametrize("age", [11, 3600, -3600])
def test_a_report_of_another_time_is_no_yes(tmp_path: Path, age: int) -> None:
    path = tmp_path / "health"
    at = datetime.now(UTC) - timedelta(seconds=age)
    path.write_text(json.dumps({"at": at.isoformat(), "why_not": {"live": [], "ready": []}}))
    yes, said = ask(path, "live")
    assert not yes and "is written each second" in said


@pytest.mark.parametrize("name", ["no_folder/health", ".", "a_file/health", "x" * 300])
def test_a_file_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path, name: str) -> None:
    (tmp_path / "a_file").touch()
    with pytest.raises(BadSetting, match="Name a file in a folder that exists"):
        written(tmp_path / name, Pulse()).check()
    assert [path.name for path in tmp_path.iterdir()] == ["a_file"]


def test_a_folder_that_goes_away_is_trouble_and_not_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(health_file, "EVERY", 0.01)
    folder, pulse = tmp_path / "run", Pulse()
    folder.mkdir()
    file = written(folder / "health", pulse)
    loop = Loop("health-file", file, pulse, pytest.fail)
    loop.start()
    wait_for((folder / "health").exists)
    folder.rename(tmp_path / "gone")
    wait_for(lambda: pulse.reading().loops["health-file"].trouble is not None)
    (tmp_path / "gone").rename(folder)
    wait_for(lambda: pulse.reading().loops["health-file"].trouble is None)
    loop.stop(30)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def wait_for(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)
