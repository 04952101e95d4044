"""The demo as a real process, and what it has started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 100


@contextmanager
def demo(folder: Path, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """`emq demo` at work, ended with the block; all that it prints goes to `folder`/out."""
    environment = {name: value for name, value in os.environ.items() if name != "EMQ_DSN"}
    with (folder / "out").open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "emq_sql", "demo", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment | {"PYTHONUNBUFFERED": "1", "TMPDIR": str(folder)},
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(PATIENCE)


def said(folder: Path) -> str:
    """What it has printed so far."""
    return (folder / "out").read_text()


def eventually(true: Callable[[], object], what: str) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"not within {PATIENCE} seconds: {what}"
        time.sleep(0.02)


def descendants(pid: int) -> dict[int, str]:
    """The processes that it has started, and those that they have, with their command lines."""
    asked = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 3) for line in asked.stdout.splitlines()]
    found: dict[int, str] = {}
    parents = {pid}
    while parents:
        children = {
            int(row[0]): row[3] for row in rows if int(row[1]) in parents and row[2][0] != "Z"
        }
        found |= children
        parents = set(children)
    return found


def alive(pids: dict[int, str]) -> dict[int, str]:
    """Those that still run, with the same command line."""
    asked = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,stat=,args="], capture_output=True, text=True, check=True
    )
    now = {}
    for line in asked.stdout.splitlines():
        pid, stat, arguments = line.split(None, 2)
        if stat[0] != "Z":
            now[int(pid)] = arguments
    return {pid: args for pid, args in pids.items() if now.get(pid) == args}


def figure(text: str, name: str) -> str:
    """The figure of this line of the account."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"{name}  ")]
    return line.removeprefix(name).split()[0].replace(",", "")
