"""Many sessions claim from one line and complete: how throughput goes with their number."""

from __future__ import annotations

import time
from functools import partial

from bench.settings import Sizes
from bench.suite import jobs
from bench.suite.cell import Cell, Figures, Unsound
from bench.suite.pgbench import repeated
from bench.suite.stage import Stage

_SCRIPT = """
select coalesce(array_agg(id), '{{}}') as ids, coalesce(array_agg(fence), '{{}}') as fences,
       coalesce(sum(length(payload::text)), 0) as size
  from emq.claim('default', {n}, 'bench', (random() * 1e12)::bigint) \\gset
select emq.complete(:ids::uuid[], :fences::bigint[]);
"""


def cells(sizes: Sizes, *, huge: bool) -> list[Cell]:
    del huge
    return [
        Cell("claimers", f"{sessions}x{n}", f"{sessions} SQL sessions, claims of {n}", "per_second",
             partial(claimed, sessions=sessions, n=n),
             beside=None if (sessions, n) == (1, 1) else "claimers:1x1")
        for sessions, n in sizes.claimers
    ]  # fmt: skip


def claimed(stage: Stage, sessions: int, n: int) -> Figures:
    """The line is filled up to the same length before each run, and must outlast it."""
    base = stage.kept("claimers", lambda _: None)
    full = stage.sizes.claimer_backlog
    with base.connect() as conn:
        jobs.fill(conn, max(0, full - base.counts()["pending"]))
    base.settle()
    before, start, began = base.counts(), base.read(), time.monotonic()
    turns = repeated(stage, base, _SCRIPT.format(n=n), sessions, stage.sizes.claimer_seconds)
    took, end, after = time.monotonic() - began, base.read(), base.counts()
    done = after["archived"] - before["archived"]
    if before["pending"] - after["pending"] != done or after["active"] or done > turns * n:
        raise Unsound(f"{turns} claims of {n} took {before} to {after}")
    if after["pending"] < sessions * n:
        raise Unsound(f"the line of {full} was too short for {done} jobs")
    return {
        "jobs": done,
        "seconds": round(took, 3),
        "per_second": round(done / took, 1),
        "jobs_per_claim": round(done / turns, 3),
        **base.cost(start, end, done),
    }
