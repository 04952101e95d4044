"""However a run ends, nothing of it is left but what was asked for."""

from __future__ import annotations

import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from emq_sql.embedded import dev_db, find
from emq_sql.embedded.account import server_account
from emq_sql.errors import NoServerBinaries
from tests.demo.processes import PATIENCE, alive, demo, descendants, eventually, figure, said
from tests.plugins.databases import Database

pytestmark = pytest.mark.faults


@pytest.fixture(autouse=True)
def binaries() -> None:
    try:
        find(account=server_account())
    except NoServerBinaries:
        pytest.skip("there are no PostgreSQL programs for a server of the demo's own")


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A short directory that the user who runs PostgreSQL may enter."""
    made = Path(tempfile.mkdtemp(prefix="emqt-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def server_directories(processes: dict[int, str]) -> list[Path]:
    return [Path(found) for found in re.findall(r"-D (/tmp/emq-\w+)/data", str(processes))]


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_a_run_that_is_ended_takes_all_its_processes_along(
    how: signal.Signals, code: int, tmp_path: Path
) -> None:
    with demo(tmp_path, "--limit", 300) as process:
        eventually(lambda: "SIGSTOP" in said(tmp_path), "a worker is frozen")
        started = descendants(process.pid)
        assert len(re.findall("emq_sql.demo.worker", str(started))) >= 2
        (server,) = server_directories(started)
        process.send_signal(how)
        assert process.wait(PATIENCE) == code
    eventually(lambda: not alive(started), "its server and its workers have ended")
    eventually(lambda: not server.exists(), "the directory of its server is gone")
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]
    assert "Traceback" not in said(tmp_path)


def test_an_interrupted_run_leaves_a_given_database_as_it_was(
    empty_db: Database, tmp_path: Path
) -> None:
    with demo(tmp_path, "--limit", 300, "--dsn", empty_db.dsn) as process:
        eventually(lambda: "kill -9" in said(tmp_path), "a worker was killed")
        started = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    assert alive(started) == {}
    left = empty_db.connect().execute("select nspname from pg_namespace where nspname like 'emq%'")
    assert left.fetchall() == []


def test_a_run_that_takes_too_long_says_what_hangs(tmp_path: Path) -> None:
    with demo(tmp_path, "--limit", 300, "--deadline", 5) as process:
        eventually(lambda: descendants(process.pid), "it has begun")
        assert process.wait(PATIENCE) == 1
        text = said(tmp_path)
    assert re.search(r"given up after 5 s while (waiting|starting)", text), text
    assert "Traceback" not in text


def test_workers_that_end_by_themselves_end_the_run_and_are_quoted(tmp_path: Path) -> None:
    with demo(tmp_path, "--limit", 300, EMQ_SQL_CRASH_AT="after-claim:3") as process:
        assert process.wait(PATIENCE) == 1
    assert "ended by itself: worker" in said(tmp_path)
    assert "--- worker 1" in said(tmp_path)
    assert "The account balances" not in said(tmp_path)


def test_a_kept_database_stays_until_it_is_stopped_and_a_doubled_result_is_found_out(
    open_place: Path, tmp_path: Path
) -> None:
    data = open_place / "kept"
    try:
        with demo(tmp_path, "--limit", 60, "--keep", "--data", data) as process:
            eventually(lambda: "SIGSTOP" in said(tmp_path), "it is at work")
            dsn = dev_db.status(data).dsn
            assert dsn is not None
            with psycopg.connect(dsn) as conn:
                conn.execute("insert into demo.result select * from demo.result limit 1")
            assert process.wait(PATIENCE) == 1
        text = said(tmp_path)
        assert figure(text, "results written twice") == "1"
        assert "results written twice" in next(
            line for line in text.splitlines() if "<-- DOES NOT BALANCE" in line
        )
        with psycopg.connect(dsn) as conn:
            row = conn.execute("select count(*) from emq.archive").fetchone()
            assert row == (60,)
            assert conn.execute("show fsync").fetchone() == ("on",)
        assert dsn in text
        assert f"emq dev-db stop --dir {data}" in text
    finally:
        stopped = dev_db.stop(data)
    assert stopped
