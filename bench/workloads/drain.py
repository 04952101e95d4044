"""A backlog run by one and by two `emq worker` commands: no-op handlers, and such as wait."""

from __future__ import annotations

from functools import partial

from bench.settings import NOOP_WORKER, PLAIN_WORKER, WAIT_MS, WAITING_WORKER, Sizes
from bench.suite.cell import Cell, Figures
from bench.suite.draining import drained
from bench.suite.stage import Stage


def cells(sizes: Sizes, *, huge: bool) -> list[Cell]:
    del sizes, huge
    handlers = {"noop": "no-op handler", "waits": f"handler of {WAIT_MS} ms"}
    as_it_comes = "no-op handler, emq worker without options"
    return [Cell("drain", "plain", as_it_comes, "per_second", plain, beside="drain:noop-1")] + [
        Cell(
            "drain",
            f"{task}-{workers}",
            f"{handler}, {workers} worker process{'es' * (workers > 1)}",
            "per_second",
            partial(drain, task=task, workers=workers),
            beside=f"drain:{task}-1" if workers > 1 else None,
        )
        for task, handler in handlers.items()
        for workers in (1, 2)
    ]


def plain(stage: Stage) -> Figures:
    """Four threads, and no job claimed beyond them."""
    sizes = stage.sizes
    with stage.fresh() as base:
        return drained(stage, base, PLAIN_WORKER, sizes.drain_jobs, sizes.drain_seconds)


def drain(stage: Stage, task: str, workers: int) -> Figures:
    sizes = stage.sizes
    waits = task == "waits"
    with stage.fresh() as base:
        return drained(
            stage,
            base,
            WAITING_WORKER if waits else NOOP_WORKER,
            sizes.waiting_jobs if waits else sizes.drain_jobs,
            sizes.waiting_seconds if waits else sizes.drain_seconds,
            task=task,
            workers=workers,
        )
