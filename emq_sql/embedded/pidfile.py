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
    """Whether the process named in the file is a server that was started on this very path.

    A pid alone proves nothing: after a crash of the machine another program may have it.
    """
    pid = read(data).pid
    arguments = _command_line(pid) if pid else []
    return _is_postgres(arguments) and str(data) in arguments


def drop_stale(data: Path, *, alone: bool = False) -> bool:
    """Remove the file when another program has its pid by now; whether it was removed.

    PostgreSQL judges all other cases itself, leftover backends included, but takes any living
    process of its own user for a server and then refuses to start for ever. alone: nobody else can
    be starting a server on these data, so that an empty file (a crash while it was written) is
    stale too.
    """
    path, found = data / NAME, read(data)
    if not found.pid:
        stale = alone and path.exists()
    else:
        arguments = _command_line(found.pid)
        stale = bool(arguments) and not _is_postgres(arguments)
    if stale:
        path.unlink(missing_ok=True)
        if found.directory:
            Path(found.directory, f".s.PGSQL.{found.port}.lock").unlink(missing_ok=True)
    return stale


def _is_postgres(arguments: list[str]) -> bool:
    return bool(arguments) and Path(arguments[0]).name.startswith(("postgres", "postmaster"))


def _command_line(pid: int) -> list[str]:
    """The arguments of a living process, none when it is gone."""
    proc = Path("/proc", str(pid), "cmdline")
    if Path("/proc/self/cmdline").exists():
        try:
            return proc.read_text(errors="replace").rstrip("\0").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            return []
    asked = subprocess.run(
        ["ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return asked.stdout.split()
