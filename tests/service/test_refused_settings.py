"""Impossible settings are refused at the start in one sentence, and nothing is claimed."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result

from emq_sql.cli.main import main
from tests.plugins.databases import scratch, template_with_schema
from tests.plugins.running import PgServer
from tests.service.conftest import ROOT, Place

APP = "tests.service.idle_app:emq"


@pytest.fixture(scope="module")
def database(pg_server: PgServer) -> Iterator[tuple[str, psycopg.Connection[Any]]]:
    """One for all refusals, with a job that none of them claims."""
    with scratch(pg_server, template_with_schema(pg_server)) as made:
        reader = made.connect()
        reader.execute("""select emq.enqueue('default', 'says', '{"text": "hello"}')""")
        yield made.dsn, reader


@pytest.fixture
def logging_as_it_was() -> Iterator[None]:
    """The command configures the logging of its process, which is this one."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@pytest.mark.usefixtures("logging_as_it_was")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--concurrency 0", "concurrency is 0; a worker has 1 to 1000 slots. For more, start"),
        ("--concurrency 1000000", "start more workers"),
        ("--concurrency many", "'many' is not a valid integer"),
        ("--processes 0", "processes is 0; a worker has 1 to 256 child processes"),
        ("--processes 2 --concurrency 2", "Leave concurrency out for processes"),
        ("--poll 0", "poll is zero"),
        ("--poll -1", "poll is negative"),
        ("--poll inf", "poll is inf, which is no duration"),
        ("--poll nan", "poll is nan, which is no duration"),
        ("--poll 0.001", "would keep the database busy. Set it to 0.01 s or more"),
        ("--grace -1", "grace is negative"),
        ("--grace inf", "grace is inf, which is no duration"),
        ("--grace 1e30", "Durations are in seconds: are these milliseconds?"),
        ("--lease 0.1", "the shortest lease is 0.2 s"),
        ("--lease 100000", "A lease bounds the wait after a crash, not the run"),
        ("--lease 10 --extend 10", "interval (10 s) is over a third of the lease (10 s)"),
        ("--lease 1 --extend 0.5", "at which leases are extended anyway. Make it shorter"),
        ("--extend 11", "of the usual lease (30 s); a lease of 33 s"),
        ("--extend 0", "extend interval is zero"),
        ("-q ,", "a queue name has 1 to 63 characters"),
        ("-q Mail", "Queue name 'Mail' is refused"),
        ("-q mail,mail", "Name each queue once"),
        ("-q mail;drop", "Queue name 'mail;drop' is refused"),
        ("--health-port 0", "The health port is 0"),
        ("--health-port 65536", "The health port is 65536"),
        ("--health-port TAKEN", "Address already in use. Is it in use? Give a free one"),
        ("--health-file no/such/folder/file", "Name a file in a folder that exists"),
        ("--live-within 0", "live within is zero"),
        ("--ready-within 1 --poll 1", "is under two polls"),
        ("--log-level loud", "'loud' is not one of 'debug', 'info'"),
        ("--log-format xml", "'xml' is not one of 'text', 'json'"),
        ("--log-config no_such.json", "cannot be read: No such file or directory"),
        ("--log-config pyproject.toml --log-format json", "leave --log-format out"),
        ("--log-config Makefile", "is neither JSON nor, named .toml, TOML"),
        ("--log-config pyproject.toml", "See logging.config.dictConfig"),
        ("--app no.such:emq", "there is no module 'no'"),
        ("--app tests.service.idle_app:nothing", "has no EMQ named 'nothing'"),
    ],
)
def test_an_impossible_setting_is_refused_and_nothing_is_claimed(
    database: tuple[str, psycopg.Connection[Any]], monkeypatch: pytest.MonkeyPatch, words: str,
    said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(ROOT)
    dsn, reader = database
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = words.replace("TAKEN", str(taken.getsockname()[1]))
        app = [] if "--app" in words else ["--app", APP]
        command = ["worker", "--dsn", dsn, *app, *words.split()]
        result: Result = CliRunner().invoke(main, command)
    assert said in result.output, result.output
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert reader.execute("select attempts from emq.pending").fetchall() == [(0,)]
    assert reader.execute("select name from emq.worker").fetchall() == []


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("timeout=0", "timeout is zero"),
        ("timeout=-1", "timeout is negative"),
        ("lease=0", "lease is zero"),
        ("max_attempts=0", "max_attempts"),
    ],
)
def test_a_task_that_cannot_run_is_refused_where_it_is_defined(
    place: Place, task: str, said: str
) -> None:
    lines = f"""
        from emq_sql import EMQ
        emq = EMQ({place.dsn!r})
        @emq.task({task})
        def f(): pass
    """
    module = place.folder / "wrong_app.py"
    module.write_text("\n".join(line.strip() for line in lines.splitlines()))
    done = started(place.folder, "--app", "wrong_app:emq")
    assert done.returncode == 2
    assert done.stderr.startswith("emq: ") and said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_long_run_under_a_short_lease_is_legal(place: Place) -> None:
    """Three knobs: the lease, the limit of a run, and the attempts."""
    module = place.folder / "right_app.py"
    module.write_text(
        "from emq_sql import EMQ\n"
        f"emq = EMQ({place.dsn!r})\n"
        "emq.task(name='f', timeout=600, lease=2, max_attempts=1)(lambda: None)\n"
    )
    done = started(place.folder, "--app", "right_app:emq", "--burst", "--lease", "2")
    assert done.returncode == 0, done.stderr


def started(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A worker that ends by itself."""
    return subprocess.run(
        [sys.executable, "-m", "emq_sql", "worker", *words], cwd=folder, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
