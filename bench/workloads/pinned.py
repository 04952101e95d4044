"""Jobs flow from a real producer to a real worker while somebody keeps the horizon where it is."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from bench.settings import NOOP_WORKER, Sizes
from bench.suite import jobs
from bench.suite.cell import Cell, Figures, Unsound
from bench.suite.crew import Crew
from bench.suite.stage import Base, Stage
from bench.upkeep import idle_snapshot

_ROOM = 3_000_000  # jobs
_WARM = 2.0  # seconds of flow before the horizon is pinned


def cells(sizes: Sizes, *, huge: bool) -> list[Cell]:
    del huge
    seconds = f"for {sizes.pinned_seconds:g} s"
    return [
        Cell("pinned", "snapshot", f"an idle REPEATABLE READ snapshot {seconds}",
             "last_over_first", partial(flow, by="snapshot")),
        Cell("pinned", "writer", f"an open transaction that has written {seconds}",
             "last_over_first", partial(flow, by="writer")),
    ]  # fmt: skip


@contextmanager
def _open_writer(base: Base) -> Iterator[None]:
    with base.connect(autocommit=False) as conn:
        conn.execute("create table other (n int)")
        conn.execute("insert into other values (1)")
        yield
        conn.rollback()


def flow(stage: Stage, by: str) -> Figures:
    """The producer keeps some thousand jobs waiting by `enqueue_many`, the worker runs them."""
    sizes, window = stage.sizes, stage.sizes.pinned_window
    with (
        stage.fresh() as base,
        Crew(stage, base, NOOP_WORKER, _ROOM) as crew,
    ):
        flowing = _Flow(crew, base, sizes)
        flowing.until(time.monotonic() + _WARM)
        holder = idle_snapshot(base.dsn, True) if by == "snapshot" else _open_writer(base)
        with holder:
            cpu, began = crew.cpu(), time.monotonic()
            looks = [(base.read(), crew.done())]
            for seconds in (window, sizes.pinned_seconds - window, sizes.pinned_seconds):
                flowing.until(began + seconds)
                looks.append((base.read(), crew.done()))
            ended, cpu = time.monotonic(), crew.cpu() - cpu
        crew.until(lambda: crew.done() >= flowing.added, "not drained")
        crew.until(lambda: base.one("select count(*) from emq.active") == 0, "not archived", 0.1)
        crew.stop()
        starts, counts = crew.starts(), base.counts()
        flowing.close()
    if counts["archived"] - crew.first != flowing.added or counts["pending"]:
        raise Unsound(f"{flowing.added} jobs were added, and {counts}")
    begun = sorted(starts.values())
    each = [_between(begun, began + k, began + k + 1) for k in range(int(ended - began))]
    first = _between(begun, began, began + window) / window
    last = _between(begun, ended - window, ended) / window
    if not first:
        raise Unsound("no job ran in the first seconds")
    (start, ran), (end, all_ran) = looks[0], looks[-1]
    ran = all_ran - ran
    head, tail = (
        (after[0].cpu - before[0].cpu) * 1e6 / max(1, after[1] - before[1])
        for before, after in (looks[:2], looks[2:])
    )
    return {
        "jobs": ran,
        "seconds": round(ended - began, 3),
        "per_second": round(ran / (ended - began), 1),
        "first_per_second": round(first, 1),
        "last_per_second": round(last, 1),
        "last_over_first": round(last / first, 3),
        "server_cpu_last_over_first": round(tail / head, 3),
        "worker_cpu_ms": round(cpu * 1000 / ran, 4),
        **base.cost(start, end, ran),
        "each_second": each,
    }


class _Flow:
    """The producer: an application that adds jobs by the batch when few are left."""

    def __init__(self, crew: Crew, base: Base, sizes: Sizes) -> None:
        self._crew, self._depth = crew, sizes.pinned_depth
        self._emq = jobs.application(base.dsn)
        self._task = self._emq.tasks["noop"]
        self._numbers = itertools.count(crew.first)
        self.added = 0

    def until(self, end: float) -> None:
        batch = self._depth // 4
        while time.monotonic() < end:
            if self.added - self._crew.done() < self._depth and self.added + batch < _ROOM:
                some = itertools.islice(self._numbers, batch)
                self._task.enqueue_many([jobs.payload(n) for n in some])
                self.added += batch
            else:
                time.sleep(0.002)

    def close(self) -> None:
        self._emq.flush_rings()
        self._emq.engine.dispose()


def _between(ordered: list[float], since: float, until: float) -> int:
    return sum(since <= at < until for at in ordered)
