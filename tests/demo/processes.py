"""The demo as a real process, and what it has started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

PATIENCE = 100


@contextmanager
def demo(folder: Path, *arguments: object, **setting: str) -> Iterator[subprocess.Popen[str]]:
    """`emq demo` at work, ended with the block; all that it prints goes to `folder`/out."""
    environment = {name: value for name, value in os.environ.items() if name != "EMQ_DSN"}
    with (folder / "out").open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "emq_sql", "demo", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment | {"PYTHONUNBUFFERED": "1", "TMPDIR": str(folder)} | setting,
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
    try:
        children = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return {}
    return {child.pid: line for child in children if (line := _command_line(child))}


def alive(pids: dict[int, str]) -> dict[int, str]:
    """Those that still run, with the same command line."""
    now = {process.pid: _command_line(process) for process in psutil.process_iter()}
    return {pid: line for pid, line in pids.items() if now.get(pid) == line}


def _command_line(process: psutil.Process) -> str | None:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return None


def figure(text: str, name: str) -> str:
    """The figure of this line of the account."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"{name}  ")]
    return line.removeprefix(name).split()[0].replace(",", "")
