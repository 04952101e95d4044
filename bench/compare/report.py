"""What a run found: medians and spreads for people and, as JSON, for programs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bench.compare.catalogue import Peer
from bench.compare.plan import best
from bench.compare.record import Record

Line = dict[str, Any]


def spread(values: Iterable[float | None]) -> dict[str, Any] | None:
    """The median, the lowest and the highest of those that are there."""
    there = sorted(value for value in values if value is not None)
    if not there:
        return None
    return {
        "median": round(statistics.median(there), 4), "lowest": there[0], "highest": there[-1],
        "runs": len(there),
    }  # fmt: skip


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that is not below this part of them."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * part // 100).__floor__() - 1)]


def summary(peer: Peer, record: Record) -> dict[str, Any]:
    """All figures of one peer."""
    lines = [line for cell, line in record.done.items() if cell.peer == peer.name]
    good = [line for line in lines if line["ok"] and line["round"] > 0]

    def of(workload: str, figure: str) -> dict[str, Any] | None:
        return spread(line.get(figure) for line in good if line["workload"] == workload)

    chosen = best(peer, record)
    return {
        "peer": peer.name,
        "server": peer.server,
        "keeps_a_record": chosen.record if chosen else peer.record,
        "setting": chosen.name if chosen else None,
        "tried": [
            {"setting": s.name, "how": s.tried, "record": s.record, "drain_per_second": rate}
            for s in peer.settings
            for rate in [next((x["per_second"] for x in lines if _is_trial(x, s.name)), None)]
        ],
        "drain_1": of("drain-1", "per_second"),
        "drain_2": of("drain-2", "per_second"),
        "single": of("enqueue", "single_per_second"),
        "bulk": of("enqueue", "bulk_per_second"),
        "latency_ms": _latency(good, "from_call_ms"),
        "latency_from_commit_ms": _latency(good, "from_commit_ms"),
        "server_cpu_us": of("drain-1", "server_cpu_us"),
        "server_cpu_us_enqueue": of("drain-1", "server_cpu_us_enqueue"),
        "worker_cpu_ms": of("drain-1", "worker_cpu_ms"),
        "wal_bytes": of("drain-1", "wal_bytes"),
        "commits": of("drain-1", "commits"),
        "pinned_first": of("pinned", "first_per_second"),
        "pinned_last": of("pinned", "last_per_second"),
        "pinned_ratio": of("pinned", "ratio"),
        "failed": [
            {k: line[k] for k in ("setting", "workload", "round", "why")}
            for line in lines if not line["ok"]
        ],
    }  # fmt: skip


def _is_trial(line: Line, setting: str) -> bool:
    return bool(line["ok"]) and line["round"] == 0 and line["setting"] == setting


def _latency(good: list[Line], figure: str) -> dict[str, Any] | None:
    """Of all rounds together; a percentile of 150 samples alone would be one sample."""
    runs = [line[figure] for line in good if line["workload"] == "latency"]
    every = [value for run in runs for value in run]
    if not every:
        return None
    found: dict[str, Any] = {f"p{p}": percentile(every, p) for p in (50, 95, 99)}
    return found | {"p50_of_runs": spread(percentile(run, 50) for run in runs), "n": len(every)}


_COLUMNS: tuple[tuple[str, Callable[[dict[str, Any]], object]], ...] = (
    ("peer", lambda s: s["peer"] + (" *" if s["server"] == "redis" else "")),
    ("setting", lambda s: s["setting"] or "-"),
    ("drain/s", lambda s: _whole(s["drain_1"])),
    ("2 procs", lambda s: _whole(s["drain_2"])),
    ("bulk/s", lambda s: _whole(s["bulk"])),
    ("single/s", lambda s: _whole(s["single"])),
    ("p50 ms", lambda s: _part(s["latency_ms"], "p50")),
    ("p95", lambda s: _part(s["latency_ms"], "p95")),
    ("p99", lambda s: _part(s["latency_ms"], "p99")),
    ("srv us", lambda s: _whole(s["server_cpu_us"])),
    ("WAL B", lambda s: _whole(s["wal_bytes"])),
    ("commits", lambda s: _small(s["commits"])),
    ("wrk ms", lambda s: _small(s["worker_cpu_ms"])),
    ("pinned", lambda s: _whole(s["pinned_first"])),
    ("-> last", lambda s: _whole(s["pinned_last"])),
    ("ratio", lambda s: _small(s["pinned_ratio"])),
    ("record", lambda s: "yes" if s["keeps_a_record"] else "no"),
)


def table(summaries: Sequence[dict[str, Any]]) -> str:
    """Medians; for people."""
    rows = [[name for name, _ in _COLUMNS]]
    rows += [[str(tell(one)) for _, tell in _COLUMNS] for one in summaries]
    widths = [max(len(row[k]) for row in rows) for k in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k < 2 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def trials(summaries: Sequence[dict[str, Any]]) -> str:
    """The settings that were tried, with the one drain of each."""
    lines = []
    for one in summaries:
        for tried in one["tried"]:
            mark = ">" if tried["setting"] == one["setting"] else " "
            rate = "-" if tried["drain_per_second"] is None else f"{tried['drain_per_second']:.0f}"
            lines.append(f"{mark} {one['peer']:18} {tried['setting']:16} {rate:>8}  {tried['how']}")
    return "\n".join(lines)


def _whole(found: dict[str, Any] | None) -> str:
    return "-" if found is None else f"{found['median']:.0f}"


def _small(found: dict[str, Any] | None) -> str:
    return "-" if found is None else f"{found['median']:.3f}"


def _part(found: dict[str, Any] | None, name: str) -> str:
    return "-" if found is None else f"{found[name]:.1f}"
