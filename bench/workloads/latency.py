"""How soon an idle worker begins a job, also while somebody else's transaction stays open."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from bench.settings import PLAIN_WORKER, Sizes
from bench.suite import jobs
from bench.suite.cell import Cell, Figures, milliseconds
from bench.suite.crew import Crew
from bench.suite.stage import Base, Stage

_GAP = (0.03, 0.07)  # seconds from the start of a job to the next enqueue


def cells(sizes: Sizes, *, huge: bool) -> list[Cell]:
    del huge
    held = f"idle worker, a transaction that has written stays open {sizes.foreign_seconds:g} s"
    return [
        Cell("latency", "idle", "idle worker, the bell rings", "p50_ms", idle),
        Cell("latency", "foreign", held, "p50_ms", foreign, beside="latency:idle"),
    ]


def idle(stage: Stage) -> Figures:
    with stage.fresh() as base:
        return paced(stage, base, stage.sizes.latency_jobs)


def foreign(stage: Stage) -> Figures:
    """Each job's enqueue commits while another transaction is open that began before it, has
    written, and has enqueued a job of its own; it stays open for so long after the last commit.
    """
    with stage.fresh() as base, base.connect(autocommit=False) as conn:
        held = stage.sizes.foreign_seconds

        def before_first() -> None:
            conn.execute("create table other (n int)")
            conn.execute("insert into other values (1)")
            jobs.fill(conn, 1, first=0, queue="elsewhere")

        def after_last(committed: float) -> None:
            time.sleep(max(0.0, committed + held - time.monotonic()))

        return paced(
            stage, base, stage.sizes.foreign_jobs,
            before_first=before_first, after_last=after_last,
        )  # fmt: skip


def paced(
    stage: Stage, base: Base, count: int, *, bell: bool = True, gap: tuple[float, float] = _GAP,
    before_first: Callable[[], None] = lambda: None,
    after_last: Callable[[float], None] = lambda _: None,
) -> Figures:  # fmt: skip
    """Jobs one by one, each when the one before has begun: milliseconds from the commit and from
    the call, and what one costs in an idle system, the polls of the worker included.
    """
    emq = jobs.application(base.dsn, bell=bell)
    task = emq.tasks["noop"]
    called, committed = [], []
    with Crew(stage, base, PLAIN_WORKER, count, bell=bell) as crew:
        before_first()
        start, cpu, began = base.read(), crew.cpu(), time.monotonic()
        for n in range(count):
            time.sleep(random.uniform(*gap))
            called.append(time.monotonic())
            task.enqueue(**jobs.payload(crew.first + n))
            committed.append(time.monotonic())
            crew.until(lambda n=n: crew.done() > n, "not picked up", 0.001)  # type: ignore[misc]
        took, cpu = time.monotonic() - began, crew.cpu() - cpu
        end = base.read()
        after_last(committed[-1])
        crew.stop()
        starts = crew.starts()
    emq.flush_rings()
    emq.engine.dispose()
    begun = [starts[crew.first + n] for n in range(count)]
    return {
        "jobs": count,
        "seconds": round(took, 3),
        **milliseconds([at - since for at, since in zip(begun, committed, strict=True)]),
        "from_call": milliseconds([at - since for at, since in zip(begun, called, strict=True)]),
        "worker_cpu_ms": round(cpu * 1000 / count, 4),
        **base.cost(start, end, count),
    }
