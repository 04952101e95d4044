"""python -m bench.plots [SESSION.json]: draw a session of the suite as SVG.

Without a name the newest session in bench/results that was not a quick one. The session itself is
kept beside the plots, so that they can be drawn again from what the repository has.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from bench.suite import drawing
from bench.suite.drawing import Bar, Line

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
PLOTS = ROOT / "docs" / "explain" / "plots"
KEPT = "session.json"

Session = dict[str, Any]
Cells = list[dict[str, Any]]


def main(arguments: list[str] | None = None) -> int:
    """Draw what the session has; a workload that was left out has no plot."""
    parser = argparse.ArgumentParser(prog="python -m bench.plots", description=__doc__)
    parser.add_argument("session", nargs="?", type=Path, help="a file of bench/results")
    parser.add_argument("--into", type=Path, default=PLOTS, help="the folder")
    given = parser.parse_args(arguments)
    path = given.session or _newest()
    session: Session = json.loads(path.read_text())
    given.into.mkdir(parents=True, exist_ok=True)
    for name, draw in _PLOTS.items():
        svg = draw(session)
        if svg is not None:
            (given.into / f"{name}.svg").write_text(svg)
            print(f"{name}.svg")
    (given.into / KEPT).write_text(json.dumps(session, indent=1) + "\n")
    print(f"drawn from {path} into {given.into}")
    return 0


def _newest() -> Path:
    found = sorted(RESULTS.glob("suite-*.json"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise SystemExit("There is no session in bench/results: make bench writes one.")
    return found[-1]


def _cells(session: Session, *names: str) -> Cells:
    """Those of these workloads, or of these names (workload:case)."""
    return [
        cell
        for cell in session["cells"]
        if cell["workload"] in names or f"{cell['workload']}:{cell['case']}" in names
    ]


def _note(session: Session) -> str:
    processor = f"{session['cores']} cores of {session['machine']}"
    runs = f"medians of {session['runs']} runs, thin lines from lowest to highest"
    return f"PostgreSQL {session['postgresql']}, durable commits, {processor}; {runs}"


def _of(cells: Cells, figure: str) -> list[Bar]:
    return [
        Bar(cell["what"], *(cell[which][figure] for which in ("median", "lowest", "highest")))
        for cell in cells
        if figure in cell["median"]
    ]


def _bars(
    title: str, figure: str, *names: str, logarithmic: bool = False
) -> Callable[[Session], str | None]:
    def draw(session: Session) -> str | None:
        rows = _of(_cells(session, *names), figure)
        return drawing.bars(title, _note(session), rows, logarithmic=logarithmic) if rows else None

    return draw


def _latency(session: Session) -> str | None:
    rows = []
    for cell in _cells(session, "latency"):
        for figure in ("p50_ms", "p95_ms", "p99_ms"):
            (bar,) = _of([cell], figure)
            rows.append(Bar(f"{cell['case']}, {figure.removesuffix('_ms')}", *_values(bar)))
    title = "From the commit of an enqueue to its handler in an idle worker (ms)"
    return drawing.bars(title, _note(session), rows) if rows else None


def _values(bar: Bar) -> tuple[float, float, float]:
    return bar.value, bar.low, bar.high


def _backlog(session: Session) -> str | None:
    cells = _cells(session, "backlog")
    if len(cells) < 2:
        return None
    rows = [
        Line(figure.removesuffix("_ms"), [(int(c["case"]), c["median"][figure]) for c in cells])
        for figure in ("p50_ms", "p95_ms")
    ]
    title = "A claim of ten jobs, by the length of the line (ms)"
    return drawing.lines(title, _note(session), rows, across="jobs waiting", logarithmic=True)


def _claimers(session: Session) -> str | None:
    cells = [cell for cell in _cells(session, "claimers") if cell["case"].endswith("x1")]
    if len(cells) < 2:
        return None
    points = [(int(c["case"].split("x")[0]), c["median"]["per_second"]) for c in cells]
    title = "Claims of one job at a time by many sessions (jobs/s)"
    row = Line("claim and complete, a commit each", points)
    return drawing.lines(title, _note(session), [row], across="sessions", logarithmic=True)


def _pinned(session: Session) -> str | None:
    rows = []
    for cell in _cells(session, "pinned"):
        each = [run["each_second"] for run in cell["runs"]]
        seconds = min(map(len, each))
        points = [(float(s), median(run[s] for run in each)) for s in range(seconds)]
        rows.append(Line(cell["what"], points))
    if not rows or not rows[0].points:
        return None
    title = "Jobs that begin in each second while the horizon is pinned"
    return drawing.lines(title, _note(session), rows, across="seconds since it was pinned")


_PLOTS: dict[str, Callable[[Session], str | None]] = {
    "enqueue": _bars(
        "Enqueueing (jobs/s)", "per_second", "enqueue", "pooler:single", logarithmic=True
    ),
    "drain": _bars(
        "Draining a backlog (jobs/s)", "per_second", "drain", "queues", "pooler:drain", "history"
    ),
    "server-cpu": _bars(
        "CPU of the server (us a job)",
        "server_cpu_us",
        "enqueue",
        "drain",
        "pooler:drain",
        "history",
    ),
    "wal": _bars("WAL (bytes a job)", "wal_bytes", "enqueue", "drain"),
    "worker-cpu": _bars("CPU of the workers (ms a job)", "worker_cpu_ms", "drain", "pooler:drain"),
    "latency": _latency,
    "doorbell": _bars("64 producers (jobs/s)", "per_second", "doorbell"),
    "backlog": _backlog,
    "claimers": _claimers,
    "pinned": _pinned,
}


if __name__ == "__main__":
    sys.exit(main())
