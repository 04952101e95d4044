"""The workloads of emq_sql itself, a module each: its `cells(...)` are what it measures."""

from __future__ import annotations

from bench.settings import Sizes
from bench.suite.cell import Cell
from bench.workloads import (
    backlog,
    claimers,
    doorbell,
    drain,
    enqueue,
    history,
    latency,
    pinned,
    pooler,
    queues,
)  # fmt: skip

_MODULES = (
    enqueue, drain, latency, doorbell, queues, pooler, history, claimers, backlog, pinned,
)  # fmt: skip


def cells(sizes: Sizes, *, huge: bool) -> list[Cell]:
    """All of them, in the order of a round."""
    found: list[Cell] = []
    for module in _MODULES:
        found += module.cells(sizes, huge=huge)
    return found
