"""Exporters as processes of their own, forked from one that has imported all they need."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from datetime import date
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.export import runner

PATIENCE = 300.0
SMALL = {"part": 1000, "page": 500, "step": 1000}

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.export.runner"])


def start(
    dsn: str, folder: Path, days: Sequence[date], *, sizes: dict[str, int] | None = None,
    crash_at: str | None = None,
) -> BaseProcess:  # fmt: skip
    """An exporter that has begun; it drops what it has exported."""
    ready = _FORKS.Event()
    child = _FORKS.Process(
        target=runner.run,
        args=(dsn, str(folder), [str(day) for day in days], sizes or SMALL, True, crash_at, ready),
        daemon=True,
    )
    child.start()
    assert ready.wait(PATIENCE)
    return child


def end(child: BaseProcess) -> int:
    """Its exit code; negative for the signal that ended it."""
    child.join(PATIENCE)
    assert child.exitcode is not None
    return child.exitcode
