"""python -m bench.compare: emq_sql beside other queues, on one server, in one run.

Goes on where an earlier run with the same options ended (--fresh begins anew). Prints a table and
writes bench/results/compare.json. See docs/howto/compare.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import place
from bench.compare import environments, report, workloads
from bench.compare.catalogue import Failed, Peer, Setting, chosen
from bench.compare.environments import Environment
from bench.compare.plan import WORKLOADS, cells
from bench.compare.processes import Given
from bench.compare.record import Cell, Record
from bench.compare.servers import DURABLE, REDIS, Place, Postgres, Redis
from bench.compare.workloads import Sizes

RESULTS = Path(__file__).parents[1] / "results"
TRIAL_SCALE = 0.5  # of the jobs of a drain, when a setting is only tried


def main(arguments: list[str] | None = None) -> int:
    given = _arguments(arguments)
    sizes = _sizes(given)
    ends = time.monotonic() + given.minutes * 60
    peers, ready, missing = _set_up(given)
    if given.prepare:
        for peer in peers:
            print(f"{peer.name}: {ready[peer.name].packages.get(peer.package)}")
        return 0
    asked = {
        "peers": [peer.name for peer in peers], "workloads": given.workloads,
        "sizes": json.loads(json.dumps(asdict(sizes))),
    }  # fmt: skip
    record = Record(given.out.with_suffix(".jsonl"), asked, fresh=given.fresh)
    with ExitStack() as stack:
        postgres = stack.enter_context(Postgres())
        places: dict[str, Place] = {"postgresql": postgres}
        redis = None
        if any(peer.server == "redis" for peer in peers):
            try:
                redis = stack.enter_context(Redis(given.minutes * 60 + sizes.cell_seconds))
                places["redis"] = redis
            except Failed as why:
                missing |= {p.name: str(why) for p in peers if p.server == "redis"}
                peers = [peer for peer in peers if peer.server != "redis"]
        told: dict[str, Any] = {"what": "compare", **place.describe(postgres.server)}
        told |= {
            "options": DURABLE, "redis": redis and {"version": redis.version, **REDIS},
            "revision": _revision(), "asked": asked,
        }  # fmt: skip
        complete = True
        rounds = (given.rounds, given.pinned_rounds)
        for peer, setting, cell in cells(peers, record, given.workloads, *rounds):
            if time.monotonic() > ends:
                print(f"The {given.minutes:g} minutes are over; run it again to go on.")
                complete = False
                break
            _measure(peer, setting, cell, ready[peer.name], places[peer.server], sizes, record)
    return _tell(given, told, peers, ready, missing, record, complete=complete)


def _set_up(
    given: argparse.Namespace,
) -> tuple[list[Peer], dict[str, Environment], dict[str, str]]:
    """The peers that can be run, and the reason for each that cannot."""
    peers, ready, missing = [], {}, {}
    for peer in chosen(given.peers):
        try:
            ready[peer.name] = environments.ready(peer)
            peers.append(peer)
        except Failed as why:
            missing[peer.name] = str(why)
            print(f"{peer.name} is left out: {why}", flush=True)
    return peers, ready, missing


def _measure(
    peer: Peer, setting: Setting, cell: Cell, ready: Environment, where: Place, sizes: Sizes,
    record: Record,
) -> None:  # fmt: skip
    """Run one cell in an empty database and write it down, whatever comes of it."""
    began = time.monotonic()
    seconds = sizes.cell_seconds + (sizes.pinned_seconds if cell.workload == "pinned" else 0)
    with tempfile.TemporaryDirectory(prefix="emq-compare-") as folder:
        try:
            with where.fresh(peer.name) as dsn:
                given = Given(peer, setting, ready, dsn, Path(folder), began + seconds)
                some = replace(sizes, scale=sizes.scale * TRIAL_SCALE) if cell.round == 0 else sizes
                figures = _run(cell.workload, given, where, some)
            told: dict[str, Any] = {"ok": True, **figures}
        except Failed as why:
            told = {"ok": False, "why": str(why)}
    took = time.monotonic() - began
    record.add(
        cell, at=datetime.now(UTC).isoformat(timespec="seconds"), took=round(took, 1),
        revision=_revision() if peer.own else None, **told,
    )  # fmt: skip
    print(f"{cell.round}  {cell.workload:8}  {peer.name:18} {setting.name:16} {took:6.1f} s  "
          + (_short(told) if told["ok"] else f"FAILED: {told['why']}"), flush=True)  # fmt: skip


def _run(workload: str, given: Given, where: Place, sizes: Sizes) -> dict[str, Any]:
    if workload.startswith("drain-"):
        return workloads.drain(given, where, sizes, int(workload.removeprefix("drain-")))
    run = {
        "enqueue": workloads.enqueue, "latency": workloads.latency, "pinned": workloads.pinned,
    }[workload]  # fmt: skip
    return run(given, where, sizes)


def _short(told: dict[str, Any]) -> str:
    names = ("per_second", "single_per_second", "bulk_per_second", "ratio", "first_per_second")
    parts = [f"{name} {told[name]}" for name in names if name in told]
    if "from_call_ms" in told:
        parts.append(f"p50 {report.percentile(told['from_call_ms'], 50):.2f} ms")
    return ", ".join(parts)


def _tell(
    given: argparse.Namespace, told: dict[str, Any], peers: list[Peer],
    ready: dict[str, Environment], missing: dict[str, str], record: Record, *, complete: bool,
) -> int:  # fmt: skip
    """Print the tables and write the JSON; 0 when nothing is missing."""
    summaries = []
    for peer in peers:
        one, env = report.summary(peer, record), ready[peer.name]
        one |= {"package": peer.package, "version": env.packages.get(peer.package)}
        one |= {"python": env.python, "packages": {} if peer.own else env.packages}
        summaries.append(one)
    told |= {"complete": complete, "peers": summaries, "left_out": missing}
    path = given.out.with_suffix(".json")
    path.write_text(json.dumps(told, indent=1) + "\n")
    print(f"\nPostgreSQL {told['postgresql']}, durable commits; {told['machine']},"
          f" {told['cores']} cores; {told['date']}")  # fmt: skip
    print(report.table(summaries))
    print("* on Redis, appendfsync everysec: an acknowledged job may be lost within a second")
    print("\nSettings tried, one drain of one worker process each, jobs/s; > is the chosen one:")
    print(report.trials(summaries))
    for name, why in missing.items():
        print(f"left out: {name}: {why}")
    failures = [(one["peer"], failure) for one in summaries for failure in one["failed"]]
    for name, failure in failures:
        print(f"failed: {name} {failure['setting']} {failure['workload']}"
              f" round {failure['round']}: {failure['why']}")  # fmt: skip
    print(f"written to {path}")
    return 0 if complete and not failures else 1


def _revision() -> str | None:
    """The commit of this checkout, with a + when files differ from it."""
    asked = ["git", "-C", str(environments.ROOT), "describe", "--always", "--dirty=+"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=30)
    return said.stdout.strip() or None


def _sizes(given: argparse.Namespace) -> Sizes:
    sizes = Sizes()
    if given.quick:
        sizes = Sizes(
            scale=0.05, enqueue_seconds=0.3, single_limit=100, bulk_limit=2000, latency_jobs=15,
            pinned_seconds=4, pinned_window=1, cell_seconds=60,
        )  # fmt: skip
    if given.pinned_seconds:
        window = min(sizes.pinned_window, given.pinned_seconds / 4)
        sizes = replace(sizes, pinned_seconds=given.pinned_seconds, pinned_window=window)
    return sizes if given.scale is None else replace(sizes, scale=given.scale)


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    add = parser.add_argument
    add("--peers", type=lambda text: text.split(","), default=[], help="names with commas; all")
    add("--workloads", type=_workloads, default=list(WORKLOADS), help=",".join(WORKLOADS))
    add("--rounds", type=int, default=3, help="of each workload, after the trials (3)")
    add("--pinned-rounds", type=int, default=1, help="of the pinned horizon (1)")
    add("--pinned-seconds", type=float, help="of one pinned run (60)")
    add("--minutes", type=float, default=60, help="no new cell after so long; a rerun goes on")
    add("--scale", type=float, help="of the jobs of a drain (1)")
    add("--quick", action="store_true", help="tiny counts: whether it works, no figures")
    add("--fresh", action="store_true", help="forget what an earlier run has measured")
    add("--prepare", action="store_true", help="only make the environments")
    add("--out", type=Path, default=RESULTS / "compare", help="path without its suffix")
    return parser.parse_args(arguments)


def _workloads(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(WORKLOADS):
        raise argparse.ArgumentTypeError(f"no such workload: {', '.join(sorted(unknown))}")
    return names


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as why:
        sys.exit(str(why))
