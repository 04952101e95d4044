"""`emq dev-db`: a server that outlives the command that started it, and keeps its data."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from emq_sql.embedded.account import server_account
from tests.embedded.conftest import Person
from tests.embedded.processes import PATIENCE, alive, eventually

RUN = "from emq_sql.cli.dev_db import dev_db; dev_db(prog_name='emq dev-db')"

# For what does not depend on who runs it.
only_us = pytest.mark.parametrize("person", ["ourselves"], indirect=True)

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(person: Person) -> Iterator[Command]:
    """Run one command as that person, in a process of its own."""
    ours = {k: v for k, v in person.popen.items() if k != "program"}
    used = [person.home / "dev"]

    def run(verb: str, *arguments: str, directory: Path | None = None, **env: str):  # type: ignore[no-untyped-def]
        used.append(directory or used[0])
        return subprocess.run(
            [person.python, "-c", RUN, verb, "--dir", str(used[-1]), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            timeout=PATIENCE,
            env=os.environ | {"PYTHONPATH": person.path, "PYTHONDONTWRITEBYTECODE": "1"} | env,
            **ours,
        )

    yield run
    for directory in set(used):
        run("stop", directory=directory)


def pid_of(command: Command) -> int:
    return int(json.loads(command("status", "--json").stdout)["pid"])


def test_its_life_from_start_to_stop(command: Command, person: Person) -> None:
    assert command("status").returncode == 3
    assert command("dsn").returncode == 3
    first = command("start")
    assert first.returncode == 0, first.stderr
    assert "started" in first.stderr
    again = command("start")
    assert again.returncode == 0
    assert "runs already" in again.stderr
    assert first.stdout == again.stdout == command("dsn").stdout
    dsn = first.stdout.strip()
    if os.geteuid() == 0 or not person.popen:
        with psycopg.connect(dsn) as connection:
            assert connection.execute("show fsync").fetchone() == ("on",)
            connection.execute("create table kept ()")
    status = command("status")
    assert status.returncode == 0
    assert dsn in status.stdout
    pid = pid_of(command)
    stopped = command("stop")
    assert (stopped.returncode, stopped.stderr) == (0, "stopped\n")
    assert not alive(pid)
    assert command("stop").stderr == "not running\n"
    assert command("start").stdout.strip() == dsn
    if os.geteuid() == 0 or not person.popen:
        with psycopg.connect(dsn) as connection:
            assert connection.execute("select count(*) from kept").fetchone() == (0,)


@only_us
def test_it_outlives_the_session_of_the_command(command: Command) -> None:
    command("start")
    pid = pid_of(command)
    assert os.getsid(pid) == pid
    assert alive(pid)


@only_us
def test_many_starts_at_once_make_one_server(command: Command, person: Person) -> None:
    ours = {k: v for k, v in person.popen.items() if k != "program"}
    starts = [
        subprocess.Popen(
            [person.python, "-c", RUN, "start", "--dir", str(person.home / "dev")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env=os.environ | {"PYTHONPATH": person.path, "PYTHONDONTWRITEBYTECODE": "1"},
            **ours,
        )
        for _ in range(3)
    ]
    said = [process.communicate(timeout=PATIENCE) for process in starts]
    assert [process.returncode for process in starts] == [0, 0, 0], said
    assert len({out for out, _ in said}) == 1
    assert sum("PostgreSQL" in err and "started" in err for _, err in said) == 1


def test_it_starts_again_after_a_crash(command: Command) -> None:
    dsn = command("start").stdout
    pid = pid_of(command)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not alive(pid), "the server is gone")
    assert command("status").returncode == 3
    again = command("start")
    assert (again.returncode, again.stdout) == (0, dsn), again.stderr


@pytest.mark.parametrize("left", ["another program's pid", "nothing"])
def test_a_pid_file_from_before_a_crash_of_the_machine_is_seen_through(
    command: Command, person: Person, left: str
) -> None:
    dsn = command("start").stdout
    file = person.home / "dev" / "data" / "postmaster.pid"
    lines = file.read_text().splitlines(keepends=True)
    command("stop")
    account = server_account()
    ours = {k: v for k, v in person.popen.items() if k != "program"}
    if account.uid is not None and not ours:
        ours = {"user": account.uid, "group": account.gid, "extra_groups": []}
    # A living process of the server's own user, which PostgreSQL would take for a server.
    other = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, cwd="/", **ours)
    try:
        text = "".join([f"{other.pid}\n", *lines[1:]]) if left != "nothing" else ""
        file.write_text(text)
        os.chown(file, file.parent.stat().st_uid, file.parent.stat().st_gid)
        assert command("status").returncode == 3
        assert command("stop").stderr == "not running\n"
        again = command("start")
        assert (again.returncode, again.stdout) == (0, dsn), again.stderr
        assert other.poll() is None
    finally:
        other.kill()
        other.communicate()


@only_us
def test_a_long_or_odd_directory_will_do(command: Command, person: Person) -> None:
    for directory in (person.home / ("d" * 120), person.home / "of me, 'mine'"):
        started = command("start", directory=directory)
        assert started.returncode == 0, started.stderr
        if os.geteuid() == 0 or not person.popen:
            with psycopg.connect(started.stdout.strip()) as connection:
                assert connection.execute("select 1").fetchone() == (1,)
        socket = Path(str(psycopg.conninfo.conninfo_to_dict(started.stdout.strip())["host"]))
        assert command("stop", directory=directory).returncode == 0
        assert socket.is_relative_to(directory) or not socket.exists()


@only_us
def test_the_settings_of_the_user_do_not_bend_it(command: Command) -> None:
    started = command("start", PGPORT="1", PGDATA="/nowhere", PGHOST="x", LC_ALL="tr_TR.UTF-8")
    assert started.returncode == 0, started.stderr
    assert "port=5432" in started.stdout


@only_us
def test_a_failed_start_tells_the_end_of_the_log(command: Command, person: Person) -> None:
    command("start")
    command("stop")
    settings = person.home / "dev" / "data" / "postgresql.conf"
    with settings.open("a") as file:
        file.write("shared_buffers = lots\n")
    failed = command("start")
    assert failed.returncode == 1
    assert "shared_buffers" in failed.stderr
    assert "EMQ502" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_directory_of_somebody_else_is_refused_plainly(command: Command, place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    if os.geteuid() != 0:
        closed.chmod(0)
    refused = command("start", directory=closed / "dev")
    assert refused.returncode == 1
    assert "Error:" in refused.stderr
    assert "--dir" in refused.stderr
    assert "Traceback" not in refused.stderr
    closed.chmod(0o700)


@pytest.mark.parametrize("verb", ["start", "stop", "status"])
@pytest.mark.parametrize("kind", ["no place for directories", "a file", "a link to nowhere"])
@only_us
def test_a_directory_that_cannot_be_is_refused_plainly(
    command: Command, place: Path, verb: str, kind: str
) -> None:
    odd = place / "odd"
    if kind == "a file":
        odd.write_text("")
    else:
        odd.symlink_to("/proc" if kind.startswith("no") else place / "gone")
    refused = command(verb, directory=odd / "dev")
    assert "Traceback" not in refused.stderr
    if verb == "start" and kind != "a link to nowhere":
        assert (refused.returncode, "--dir" in refused.stderr) == (1, True)
