"""python -m bench.tables: the page of figures, from the files that the measurements wrote.

Nobody types a figure: docs/explain/figures.md is this module's output, and a test compares them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench import place

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "explain" / "figures.md"
SESSION = ROOT / "docs" / "explain" / "plots" / "session.json"
COMPARE = place.RESULTS / "compare.json"
LIMITS = place.RESULTS / "limits-pg18.json"
ANATOMY = place.RESULTS / "anatomy-pg18.json"

Told = dict[str, Any]

_TOP = """\
# Figures

Written by `make bench-tables` from the files that the measurements left (`bench/results` and
`plots/session.json`); what they mean is in [performance.md](performance.md). Medians; in brackets
the lowest and the highest run. Rates depend on the machine and the hour: compare within a table,
which is one run on one machine, with everything in it measured in turns.
"""
_MAIN = {"per_second": "jobs/s", "p50_ms": "ms (p50)", "last_over_first": "last / first"}
_BESIDE = (
    ("a no-op job, one worker process", "drain:noop-1", "batch loop 1000, a record"),
    ("`enqueue_many`, 1,000 a call", "enqueue:bulk", "emq.enqueue_batch of 1000"),
    ("the same", "enqueue:bulk", "array insert, 1000 a commit"),
    ("`enqueue`, a commit each", "enqueue:single", "emq.enqueue, prepared"),
    ("the same", "enqueue:single", "durable single commits"),
)


def page() -> str:
    """The whole page."""
    session, compare, limits, anatomy = map(_read, (SESSION, COMPARE, LIMITS, ANATOMY))
    parts = [_TOP, *_suite(session), *_limits(session, limits), *_anatomy(anatomy)]
    parts += _compare(compare)
    return "\n".join(parts)


def _suite(session: Told) -> Iterator[str]:
    yield _head("The suite", "make bench", session, f"{session['runs']} rounds")
    yield _table(
        ("row", "what", "main figure", "", "server us a job", "worker ms", "WAL B", "commits"),
        map(_row, session["cells"]),
    )


def _row(cell: Told) -> Sequence[str]:
    main, middle = cell["main"], cell["median"]
    spread = f"({_number(cell['lowest'][main])} to {_number(cell['highest'][main])})"
    beside = cell.get("beside")
    if beside:
        spread += f" {_number(beside['median'])} x `{beside['cell']}`"
    costs = ("server_cpu_us", "worker_cpu_ms", "wal_bytes", "commits")
    return (
        f"`{cell['workload']}:{cell['case']}`",
        cell["what"],
        f"{_number(middle[main])} {_MAIN.get(main, main)}",
        spread,
        *(_number(middle[cost]) if cost in middle else "" for cost in costs),
    )


def _limits(session: Told, limits: Told) -> Iterator[str]:
    yield _head("Beside the limits", "make bench-limits", limits, f"{limits['rounds']} rounds")
    rates = limits["rates"]
    yield _table(("limit", "a second", ""), ((name, *_spread(rates[name])) for name in rates))
    rows = []
    cells = {f"{cell['workload']}:{cell['case']}": cell for cell in session["cells"]}
    for what, row, limit in _BESIDE:
        if row in cells:
            rate, most = cells[row]["median"]["per_second"], rates[limit]["median"]
            rows.append((what, _number(rate), limit, _number(most), f"{rate / most:.2f}"))
    yield _table(("emq_sql", "a second", "limit", "a second", "of it"), rows)


def _anatomy(anatomy: Told) -> Iterator[str]:
    what = f"{anatomy['rounds']} rounds of {anatomy['jobs']:,} no-op jobs"
    yield _head("Where the time of a no-op job goes", "make bench-anatomy", anatomy, what)
    cpu = [(name, _number(us)) for name, us in anatomy["cpu_us"].items()]
    yield _table(("CPU", "us a job"), cpu)
    own = [(f"`emq.{name}`", _number(us)) for name, us in anatomy["function_us"].items()]
    yield _table(("of the server's, by `track_functions`", "us a job"), own)


def _compare(compare: Told) -> Iterator[str]:
    said = f"three rounds, the pinned horizon once; revision {compare['revision']}"
    yield _head("Other queues", "make bench-compare", compare, said)
    columns = ("drain_1", "drain_2", "bulk", "single")
    costs = ("server_cpu_us", "worker_cpu_ms", "wal_bytes", "commits")
    rows = []
    for peer in compare["peers"]:
        late = peer.get("latency_ms") or {}
        pinned = [peer.get(f"pinned_{name}") for name in ("first", "last", "ratio")]
        rows.append(
            (
                f"{peer['package']} {peer['version']}", peer["setting"],
                "yes" if peer["keeps_a_record"] else "no",
                *(_middle(peer.get(name)) for name in columns),
                " / ".join(_number(late[p]) for p in ("p50", "p99") if p in late),
                *(_middle(peer.get(name)) for name in costs),
                " -> ".join(map(_middle, pinned[:2])) if pinned[0] else "",
                _middle(pinned[2]),
            )
        )  # fmt: skip
    yield _table(
        (
            "queue", "setting", "record", "drain/s", "two processes", "bulk/s", "single/s",
            "pick-up ms p50 / p99", "server us", "worker ms", "WAL B", "commits", "pinned/s",
            "ratio",
        ),
        rows,
    )  # fmt: skip
    failed = [f"{peer['peer']}: {text}" for peer in compare["peers"] for text in peer["failed"]]
    failed += [f"{name}: {why}" for name, why in compare["left_out"].items()]
    yield "\n".join(f"- {line}" for line in failed) + "\n" if failed else ""


def _head(title: str, command: str, told: Told, more: str) -> str:
    return (
        f"## {title}\n\n`{command}`, {more}. PostgreSQL {told['postgresql']} ({told['kind']}),"
        f" durable commits; {told['cores']} cores of {told['machine']}; Python {told['python']};"
        f" {told['date'][:10]}.\n"
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _spread(found: Told) -> tuple[str, str]:
    lowest, highest = _number(found["lowest"]), _number(found["highest"])
    return _number(found["median"]), f"({lowest} to {highest})"


def _middle(found: Told | None) -> str:
    return "" if not found or found.get("median") is None else _number(found["median"])


def _number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _read(path: Path) -> Told:
    told: Told = json.loads(path.read_text())
    return told


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.exit(0)
