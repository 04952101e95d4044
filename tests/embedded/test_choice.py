"""Which server a test run uses, and that it ends with the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from emq_sql.embedded import find, start
from emq_sql.embedded.account import server_account
from emq_sql.errors import NoServerBinaries
from tests.embedded.processes import PATIENCE, REPOSITORY, eventually, naming

CHOOSING = ("EMQ_SQL_TEST_DSN", "EMQ_SQL_TEST_SERVER", "EMQ_SQL_PG_BINDIR")

INNER = """
import os, pathlib, signal, pytest

@pytest.mark.parametrize("n", [1, 2])
def test_inner(empty_db, pg_server, n):
    assert empty_db.connect().execute("select 1").fetchone() == (1,)
    told = pathlib.Path(os.environ["TELL"], f"{n}")
    told.with_suffix(".part").write_text(pg_server.dsn)
    told.with_suffix(".part").rename(told)
    if os.environ.get("HANG"):
        signal.pause()
"""


@pytest.fixture
def inner(tmp_path: Path) -> Path:
    file = tmp_path / "test_inner.py"
    file.write_text(INNER)
    return file


def command(inner: Path, *arguments: str) -> list[str]:
    plugin = ["-p", "tests.plugins.server", "-p", "no:cacheprovider", "-c", "/dev/null"]
    return [sys.executable, "-m", "pytest", *plugin, *arguments, str(inner)]


def surroundings(inner: Path, **env: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in CHOOSING and "XDIST" not in k}
    return kept | {"TELL": str(inner.parent), "PYTHONPATH": str(REPOSITORY)} | env


def run(inner: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(inner, *arguments),
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env=surroundings(inner, **env),
        timeout=PATIENCE,
    )


def socket_directory(dsn: str) -> Path:
    return Path(str(psycopg.conninfo.conninfo_to_dict(dsn)["host"]))


@pytest.mark.parametrize("kind", ["embedded", "system"])
def test_a_kind_can_be_forced_and_the_header_says_which(
    kind: str, inner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EMQ_SQL_PG_BINDIR", raising=False)
    try:
        found = find(kind, account=server_account())
    except NoServerBinaries:
        pytest.skip(f"no {kind} programs here")
    done = run(inner, EMQ_SQL_TEST_SERVER=kind)
    assert done.returncode == 0, done.stdout
    assert f"server: {kind} (PostgreSQL {found.version}, {found.bindir})" in done.stdout


def test_a_named_directory_overrides_the_kind(inner: Path) -> None:
    named = find(account=server_account()).bindir
    done = run(inner, EMQ_SQL_TEST_SERVER="system", EMQ_SQL_PG_BINDIR=str(named))
    assert done.returncode == 0, done.stdout
    assert f"server: bindir (PostgreSQL {find().version}, {named})" in done.stdout


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"EMQ_SQL_PG_BINDIR": "/nowhere"}, "EMQ_SQL_PG_BINDIR is of no use"),
        ({"EMQ_SQL_TEST_SERVER": "none"}, "not one of embedded, docker, system"),
        (
            {"EMQ_SQL_TEST_SERVER": "docker", "DOCKER_HOST": "unix:///nowhere.sock"},
            "no Docker engine answers",
        ),
    ],
)
def test_without_a_server_the_run_fails_and_tells_the_remedies(
    env: dict[str, str], why: str, inner: Path
) -> None:
    done = run(inner, **env)
    assert done.returncode == 3
    assert why in done.stdout + done.stderr
    assert "EMQ_SQL_TEST_DSN" in done.stdout + done.stderr
    assert "pip install" in done.stdout + done.stderr


@pytest.mark.parametrize("parallel", [(), ("-n", "2")])
def test_one_server_serves_the_run_and_ends_with_it(parallel: tuple[str, ...], inner: Path) -> None:
    done = run(inner, *parallel)
    assert done.returncode == 0, done.stdout
    first, second = ((inner.parent / name).read_text() for name in "12")
    assert first == second
    directory = socket_directory(first)
    assert not directory.exists()
    assert naming(directory) == []


MISPLACED = """
import uuid, pytest

@pytest.mark.parametrize("where", ["nowhere", "in two places"])
def test_inner(db, where):
    job = uuid.uuid4()
    connection = db.connect()
    connection.execute(
        "insert into emq.job (id, queue, task, payload, priority) values (%s, 'q', 't', '{}', 2)",
        [job],
    )
    if where == "in two places":
        for _ in range(2):
            line = "insert into emq.pending (id, queue, rank) values (%s, 'q', 5)"
            connection.execute(line, [job])
"""


def test_a_test_that_misplaces_a_job_does_not_pass(tmp_path: Path) -> None:
    file = tmp_path / "test_inner.py"
    file.write_text(MISPLACED)
    done = run(file)
    assert done.returncode == 1
    assert "ERROR at teardown of test_inner[nowhere]" in done.stdout, done.stdout
    assert "ERROR at teardown of test_inner[in two places]" in done.stdout
    assert "2 passed, 2 errors" in done.stdout


@pytest.mark.faults
@pytest.mark.parametrize("parallel", [(), ("-n", "2")])
def test_a_run_that_is_killed_leaves_no_server(parallel: tuple[str, ...], inner: Path) -> None:
    process = subprocess.Popen(
        command(inner, *parallel),
        cwd=REPOSITORY,
        env=surroundings(inner, HANG="1"),
        stdout=subprocess.DEVNULL,
    )
    try:
        eventually((inner.parent / "1").exists, "the inner test runs")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    directory = socket_directory((inner.parent / "1").read_text())
    eventually(lambda: not directory.exists(), "its directory is gone")
    eventually(lambda: not naming(directory), "its processes are gone")


@pytest.mark.parametrize("scheme", ["postgresql://", "postgresql+psycopg://"])
def test_a_named_database_is_left_alone_and_no_other_is_left(
    scheme: str, inner: Path, place: Path
) -> None:
    with start(within=place) as server:
        asks = "select datname from pg_database order by 1"
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("create table mine ()")
            before = connection.execute(asks).fetchall()
            dsn = server.dsn.replace("postgresql://", scheme)
            done = run(inner, "-n", "2", EMQ_SQL_TEST_DSN=dsn)
            assert done.returncode == 0, done.stdout
            assert f"server: dsn (EMQ_SQL_TEST_DSN, PostgreSQL {server.version}" in done.stdout
            assert connection.execute(asks).fetchall() == before
            tables = "select relname from pg_class where relnamespace = 'public'::regnamespace"
            assert connection.execute(tables).fetchall() == [("mine",)]
