"""What a run was measured on: the machine, the versions, the settings of the server."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg

from emq_sql.embedded.server import Server

# Autovacuum and the checkpointer behave as in production; the machine may crash, the server not.
OPTIONS: dict[str, str | int | bool] = {
    "synchronous_commit": False,
    "full_page_writes": True,
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "max_connections": 50,
}

RESULTS = Path(__file__).parent / "results"


def describe(server: Server) -> dict[str, Any]:
    """The versions, the machine and the moment."""
    return {
        "emq_sql": version("emq-sql"),
        "postgresql": server.version,
        "kind": server.kind,
        "options": OPTIONS,
        "machine": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": platform.platform(),
        "python": platform.python_version(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def cpu_of(pids: Iterable[int]) -> float:
    """Seconds of CPU that these processes have used so far."""
    ticks = 0
    for pid in pids:
        fields = _fields(Path(f"/proc/{pid}/stat"))
        if fields is not None:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def server_cpu(server: Server) -> float:
    """Seconds of CPU that the server's processes have used, those that ended included."""
    while True:
        ended = _of_ended(server)
        running = cpu_of(_children(server))
        if _of_ended(server) == ended:  # else some may be in neither, or in both
            return ended + running


def _of_ended(server: Server) -> float:
    own = _fields(Path(f"/proc/{server.pid}/stat"))
    if own is None:
        raise RuntimeError("the server has ended")
    return (int(own[13]) + int(own[14])) / os.sysconf("SC_CLK_TCK")


def _children(server: Server) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        fields = _fields(stat)
        if fields is not None and fields[1] == str(server.pid):
            found.append(int(stat.parent.name))
    return found


def _fields(stat: Path) -> list[str] | None:
    """What follows the name in /proc/pid/stat, or None when the process has ended."""
    try:
        return stat.read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None


def wal_position(conn: psycopg.Connection[Any]) -> int:
    """Bytes of WAL that the server has written since it was made."""
    row = conn.execute(
        "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
    ).fetchone()
    assert row is not None
    return int(row[0])


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def write(told: dict[str, Any], path: Path) -> None:
    """Keep the figures of one measurement as JSON, and say where."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(told, indent=2) + "\n")
    print(f"written to {path}")
