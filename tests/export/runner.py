"""One exporter: `python -m tests.export.runner '{"dsn": ..., "folder": ..., "days": [...]}'`.

After each day it says its rows, rows a second, and its own peak of memory. Or `run`, in a process
that was forked.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import psycopg

from emq_sql import crashpoints
from emq_sql.upkeep.export.day import DayExport, Sizes
from emq_sql.upkeep.export.places import Directory


def run(
    dsn: str, folder: str, days: Sequence[str], sizes: dict[str, int], drop: bool,
    crash_at: str | None = None, ready: Any = None,
) -> None:  # fmt: skip
    if crash_at:
        os.environ["EMQ_SQL_CRASH_AT"] = crash_at
        importlib.reload(crashpoints)
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as conn:
        if ready is not None:
            ready.set()
        for day in map(date.fromisoformat, days):
            began = time.monotonic()
            work = DayExport(conn, "emq", Directory(Path(folder)), day, Sizes(**sizes))
            _, rows = work.export(drop=drop)
            if ready is None:
                print(rows, round(rows / (time.monotonic() - began)), peak())


def peak() -> int:
    """The most memory that this program has had, in kB; getrusage counts its parent's too."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1])


if __name__ == "__main__":
    run(**json.loads(sys.argv[1]))
