"""A backlog and the workers that run it: the measurement that several workloads have in common."""

from __future__ import annotations

import time

from bench.suite import jobs
from bench.suite.cell import Figures, Unsound
from bench.suite.crew import Crew
from bench.suite.stage import Base, Stage


def drained(
    stage: Stage, base: Base, options: tuple[str, ...], count: int, seconds: float, *,
    task: str = "noop", workers: int = 1, queues: tuple[str, ...] = ("default",),
    dsn: str | None = None,
) -> Figures:  # fmt: skip
    """Warm workers get `count` jobs by one commit; measured from that commit until all of them are
    archived, or for so many seconds.

    The costs are of the drain alone; `life_wal_bytes` has the WAL of the enqueueing too.
    """
    before = base.counts()
    with Crew(stage, base, options, count, workers=workers, queues=queues, dsn=dsn) as crew:
        with base.connect(autocommit=False) as conn:
            empty = base.read()
            share, more = divmod(count, len(queues))
            first = crew.first
            for number, queue in enumerate(queues):
                some = share + (number < more)
                jobs.fill(conn, some, first=first, task=task, queue=queue)
                first += some
            filled = base.read()
            base.settle()
            start, cpu = base.read(), crew.cpu()
            conn.commit()
            began = time.monotonic()
            conn.execute("select emq.ring_parked(%s::text[])", [list(queues)])
            conn.commit()
        until = began + seconds
        crew.until(lambda: crew.done() >= count or time.monotonic() > until, "not drained")
        if all_ran := crew.done() >= count:
            running = "select count(*) from emq.active"
            with base.connect() as conn:
                crew.until(lambda: conn.execute(running).fetchone() == (0,), "not archived")
        took = time.monotonic() - began
        done, cpu = crew.done(), crew.cpu() - cpu
        end = base.read()
        crew.stop()
        late = crew.done()
        crew.starts()  # none ran twice
    after = base.counts()
    finished = after["archived"] - before["archived"] - crew.first
    left = after["pending"]
    if not done or after["active"] or after["dead"] or (all_ran and left):
        raise Unsound(f"after {count} jobs and a drain: {after}")
    if finished + left != count or finished != late:
        raise Unsound(f"of {count} jobs {late} ran, {finished} are archived, {left} are left")
    cost = base.cost(start, end, done)
    return {
        "jobs": done,
        "seconds": round(took, 3),
        "per_second": round(done / took, 1),
        "worker_cpu_ms": round(cpu * 1000 / done, 4),
        **cost,
        "life_wal_bytes": round(cost["wal_bytes"] + (filled.wal - empty.wal) / count, 1),
    }
