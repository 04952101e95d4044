"""The same drain and the same single enqueues through PgBouncer in transaction mode."""

from __future__ import annotations

from bench.settings import NOOP_WORKER, Sizes
from bench.suite.cell import Cell, Figures
from bench.suite.draining import drained
from bench.suite.pooler import pooled
from bench.suite.stage import Stage
from bench.workloads.enqueue import singly


def cells(sizes: Sizes, *, huge: bool) -> list[Cell]:
    del sizes, huge
    return [
        Cell("pooler", "drain", "no-op handler, through PgBouncer",
             "per_second", drain, beside="drain:noop-1"),
        Cell("pooler", "single", "a transaction each, through PgBouncer",
             "per_second", single, beside="enqueue:single"),
    ]  # fmt: skip


def drain(stage: Stage) -> Figures:
    """It listens at the server itself, as one must, and claims and settles through the pooler."""
    sizes = stage.sizes
    with stage.fresh() as base, pooled(stage, base) as dsn:
        return drained(stage, base, NOOP_WORKER, sizes.drain_jobs, sizes.drain_seconds, dsn=dsn)


def single(stage: Stage) -> Figures:
    with stage.fresh() as base, pooled(stage, base) as dsn:
        return singly(stage, base, dsn)
