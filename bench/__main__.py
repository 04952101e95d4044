"""python -m bench: the workloads of emq_sql itself, in alternating rounds, on a server of its own.

    python -m bench                                   # everything, five rounds
    python -m bench --only drain,latency:idle --runs 3
    python -m bench --quick                           # everything once, with tiny counts

Commits are durable: fsync and synchronous_commit are on. Each session writes one JSON file to
bench/results; `python -m bench.plots` draws it. docs/howto/measure.md says what each row means.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import place, settings, workloads
from bench.suite.cell import Cell, Figures
from bench.suite.record import Record
from bench.suite.stage import Stage
from emq_sql.embedded import start
from emq_sql.embedded.server import Server

RESULTS = Path(__file__).parent / "results"
_COSTS = {
    "server_cpu_us": "server us/job", "wal_bytes": "WAL B/job", "commits": "commits/job",
    "worker_cpu_ms": "worker ms/job",
}  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and write; 1 when a cell failed."""
    given = _arguments(arguments)
    sizes = settings.QUICK if given.quick else settings.FULL
    cells = _chosen(workloads.cells(sizes, huge=given.huge), given.only)
    if given.list:
        for cell in cells:
            print(f"{cell.name:24s} {cell.what}")
        return 0
    began = time.monotonic()
    with (
        start(prefer=given.server, durable=True, options=settings.SERVER) as server,
        tempfile.TemporaryDirectory(prefix="emq-bench-") as folder,
    ):
        record = Record(given.out or _path(server, given), _about(server, given, sizes), cells)
        stage = Stage(server, sizes, Path(folder))
        for number in range(1, given.runs + 1):
            for cell in cells:
                _measure(cell, stage, record, number, given.runs)
    record.about["seconds"] = round(time.monotonic() - began)
    record.write()
    _print(record.told())
    print(f"\nwritten to {record.path} after {record.about['seconds']} s")
    return 1 if record.failures else 0


def _measure(cell: Cell, stage: Stage, record: Record, number: int, runs: int) -> None:
    stage.begin_cell()
    began = time.monotonic()
    try:
        figures = cell.run(stage)
    except Exception as error:
        record.fail(cell, number, error)
        said = f"FAILED {type(error).__name__}: {error}"
    else:
        record.add(cell, number, figures)
        said = _line(cell.main, figures)
    took = time.monotonic() - began
    print(f"{number}/{runs} {cell.name:24s} {said}  [{took:.1f} s]", flush=True)


def _line(main: str, figures: Figures) -> str:
    told = f"{figures[main]:>10,.2f} {main}"
    costs = [f"{figures[name]:,.4g} {unit}" for name, unit in _COSTS.items() if name in figures]
    return f"{told:28s} {', '.join(costs)}"


def _print(told: dict[str, Any]) -> None:
    print(f"\nPostgreSQL {told['postgresql']}, {told['cores']} cores of {told['machine']},"
          f" {told['date']}: medians of {told['runs']} (lowest to highest)")  # fmt: skip
    for cell in told["cells"]:
        main = cell["main"]
        low, high = cell["lowest"][main], cell["highest"][main]
        beside = cell.get("beside")
        of = f"  {beside['median']:.2f} of {beside['cell']}" if beside else ""
        name = f"{cell['workload']}:{cell['case']}"
        print(f"{name:24s} {_line(main, cell['median'])} ({low:,.4g} to {high:,.4g}){of}")
    for failure in told["failures"]:
        print(f"FAILED {failure['cell']} in round {failure['round']}: {failure['error']}")


def _chosen(cells: list[Cell], only: str | None) -> list[Cell]:
    """Those that are named by workload or by `workload:case`."""
    if only is None:
        return cells
    wanted = [name.strip() for name in only.split(",")]
    known = {cell.workload for cell in cells} | {cell.name for cell in cells}
    if unknown := [name for name in wanted if name not in known]:
        raise SystemExit(f"No workload {', '.join(unknown)}; there are {', '.join(sorted(known))}.")
    return [cell for cell in cells if cell.workload in wanted or cell.name in wanted]


def _about(server: Server, given: argparse.Namespace, sizes: settings.Sizes) -> dict[str, Any]:
    return {
        "suite": "emq_sql",
        **place.describe(server),
        "options": settings.SERVER,
        "quick": given.quick,
        "runs": given.runs,
        "settings": {
            "noop_worker": settings.NOOP_WORKER,
            "waiting_worker": settings.WAITING_WORKER,
            "plain_worker": settings.PLAIN_WORKER,
            "payload_bytes": settings.PAYLOAD_BYTES,
            **asdict(sizes),
        },
    }


def _path(server: Server, given: argparse.Namespace) -> Path:
    kind = "quick" if given.quick else "suite"
    return RESULTS / f"{kind}-pg{server.major}-{datetime.now(UTC):%Y%m%dT%H%M%S}.json"


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--only", metavar="NAMES", help="workloads, or workload:case, with commas")
    parser.add_argument("--runs", type=int, help=f"rounds; {settings.RUNS}, with --quick one")
    parser.add_argument("--quick", action="store_true", help="tiny counts")
    parser.add_argument("--huge", action="store_true", help="a backlog of ten million too")
    parser.add_argument("--server", choices=("embedded", "system"), default="embedded")
    parser.add_argument("--out", type=Path, help="the file, instead of one in bench/results")
    parser.add_argument(
        "--list", action="store_true", help="say what there is, and measure nothing"
    )
    given = parser.parse_args(arguments)
    if given.runs is None:
        given.runs = 1 if given.quick else settings.RUNS
    if given.runs < 1:
        parser.error("--runs is one or more")
    return given


if __name__ == "__main__":
    sys.exit(main())
