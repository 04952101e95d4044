"""One producer in Python: jobs one by one in transactions of their own, and many by one call."""

from __future__ import annotations

import time

from bench.settings import Sizes
from bench.suite import jobs
from bench.suite.cell import Cell, Figures, Unsound
from bench.suite.stage import Base, Reading, Stage
from emq_sql import EMQ


def cells(sizes: Sizes, *, huge: bool) -> list[Cell]:
    del huge
    many = f"one producer, enqueue_many of {sizes.bulk_batch:,}"
    return [
        Cell("enqueue", "single", "one producer, a transaction each", "per_second", single),
        Cell("enqueue", "bulk", many, "per_second", bulk),
    ]


def single(stage: Stage) -> Figures:
    """`task.enqueue(...)` in a loop."""
    with stage.fresh() as base:
        return singly(stage, base, base.dsn)


def singly(stage: Stage, base: Base, dsn: str) -> Figures:
    """The same on the way that `dsn` says, which may be a pooler's."""
    sizes = stage.sizes
    emq = jobs.application(dsn)
    task = emq.tasks["noop"]
    task.enqueue(**jobs.payload(0))
    base.settle()
    before, began, cpu = base.read(), time.monotonic(), time.process_time()
    added = 0
    while added < sizes.single_jobs and time.monotonic() < began + sizes.single_seconds:
        added += 1
        task.enqueue(**jobs.payload(added))
    return _told(base, emq, before, began, cpu, added)


def bulk(stage: Stage) -> Figures:
    """`task.enqueue_many([...])` in a loop; making the arguments counts too."""
    sizes = stage.sizes
    with stage.fresh() as base:
        emq = jobs.application(base.dsn)
        task = emq.tasks["noop"]
        task.enqueue(**jobs.payload(0))
        base.settle()
        before, began, cpu = base.read(), time.monotonic(), time.process_time()
        added = 0
        while added < sizes.bulk_jobs and time.monotonic() < began + sizes.bulk_seconds:
            some = range(added + 1, added + 1 + sizes.bulk_batch)
            task.enqueue_many([jobs.payload(n) for n in some])
            added += len(some)
        return _told(base, emq, before, began, cpu, added)


def _told(base: Base, emq: EMQ, before: Reading, began: float, cpu: float, added: int) -> Figures:
    took, cpu = time.monotonic() - began, time.process_time() - cpu
    emq.flush_rings()
    emq.engine.dispose()
    after, counts = base.read(), base.counts()
    if counts["pending"] != added + 1:
        raise Unsound(f"{added + 1} jobs were added, and {counts['pending']} wait")
    return {
        "jobs": added,
        "seconds": round(took, 3),
        "per_second": round(added / took, 1),
        "producer_cpu_ms": round(cpu * 1000 / added, 4),
        **base.cost(before, after, added),
    }
