"""Real processes for these tests: owners of servers, and bounded waits for their end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

REPOSITORY = Path(__file__).parents[2]
OWNER = Path(__file__).with_name("owner.py")
PATIENCE = 60


class Owner:
    """A child process that starts a server and holds it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def says(self) -> dict[str, Any]:
        """The next thing it reports."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the owner ended with code {self.process.wait()}"
        facts: dict[str, Any] = json.loads(line)
        return facts

    def finish(self) -> int:
        """Let it end by itself; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE)

    def kill(self, how: int) -> None:
        """Send a signal and wait for its end."""
        self.process.send_signal(how)
        self.process.wait(PATIENCE)


@contextmanager
def owner(
    order: dict[str, Any],
    *,
    python: str = sys.executable,
    path: str = str(REPOSITORY),
    env: dict[str, str] | None = None,
    **popen: Any,
) -> Iterator[Owner]:
    """Start one; it is ended with the block at the latest."""
    process = subprocess.Popen(
        [python, str(popen.pop("program", OWNER)), json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        env=os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | (env or {}),
        **popen,
    )
    try:
        yield Owner(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def eventually(true: Callable[[], object], what: str) -> None:
    """Wait until it holds; fails after a minute."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"not within {PATIENCE} seconds: {what}"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process of that id runs (one that ended and waits to be collected does not)."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def naming(directory: Path) -> list[str]:
    """The command lines of all processes that name this directory."""
    lines = [
        " ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])
    ]
    return [line for line in lines if str(directory) in line]
