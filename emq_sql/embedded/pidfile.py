"""Reads postmaster.pid, and tells a running server from what a crash left behind."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

NAME = "postmaster.pid"


@dataclass(frozen=True, slots=True)
class PidFile:
    """What postmaster.pid says; pid is 0 where there is no such file."""

    pid: int = 0
    port: int = 0
    directory: str = ""
    status: str = ""


def read(data: Path) -> PidFile:
    """What the file says now; a file that is half written counts as far as it goes."""
    try:
        lines = [line.strip() for line in (data / NAME).read_text().splitlines()]
    except (FileNotFoundError, NotADirectoryError):
        return PidFile()
    lines += [""] * (8 - len(lines))
    return PidFile(
        pid=int(lines[0]) if lines[0].isdigit() else 0,
        port=int(lines[3]) if lines[3].isdigit() else 0,
        directory=lines[4],
        status=lines[7],
    )


def is_running(data: Path) -> bool:
    """Whether the process named in the file is a server on this very directory.

    A pid alone proves nothing: after a crash of the machine another program may have it.
    """
    pid = read(data).pid
    return pid > 0 and str(data) in _command_line(pid)


def drop_stale(data: Path) -> bool:
    """Remove the file when its process is gone or is another program's; whether it was removed.

    PostgreSQL does this itself except where the pid was given to another program of the same user,
    and then refuses to start for ever. Its own check for leftover backends is kept: the file of a
    process that has ended stays for PostgreSQL to judge.
    """
    found = read(data)
    if found.pid == 0 or not _command_line(found.pid) or is_running(data):
        return False
    (data / NAME).unlink(missing_ok=True)
    if found.directory:
        Path(found.directory, f".s.PGSQL.{found.port}.lock").unlink(missing_ok=True)
    return True


def _command_line(pid: int) -> list[str]:
    """The arguments of a living process, none when it is gone."""
    proc = Path("/proc", str(pid), "cmdline")
    if Path("/proc/self/cmdline").exists():
        try:
            return proc.read_text(errors="replace").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            return []
    asked = subprocess.run(
        ["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return asked.stdout.split()
