"""A thousand queues: one worker that works on all of them, and claims of each."""

from __future__ import annotations

import secrets
import time

from bench.settings import NOOP_WORKER, Sizes
from bench.suite import jobs
from bench.suite.cell import Cell, Figures, Unsound, milliseconds
from bench.suite.draining import drained
from bench.suite.stage import Stage


def cells(sizes: Sizes, *, huge: bool) -> list[Cell]:
    del huge
    count, each = sizes.queues, sizes.jobs_of_a_queue
    return [
        Cell("queues", "worker", f"no-op handler, {count:,} queues of {each} jobs", "per_second",
             worker, beside="drain:noop-1"),
        Cell("queues", "claim-each", f"claims of 1 from each of {count:,} queues", "p50_ms", each_),
        Cell("queues", "claim-any", f"claim_any of {count:,} queues, jobs in the last one",
             "p50_ms", any_),
    ]  # fmt: skip


def _names(sizes: Sizes) -> tuple[str, ...]:
    return tuple(f"q{n}" for n in range(sizes.queues))


def worker(stage: Stage) -> Figures:
    sizes, names = stage.sizes, _names(stage.sizes)
    with stage.fresh() as base:
        count = sizes.queues * sizes.jobs_of_a_queue
        return drained(stage, base, NOOP_WORKER, count, sizes.drain_seconds, queues=names)


def each_(stage: Stage) -> Figures:
    """One session claims from each queue in turn, for the first time and then again. Timed is the
    claim alone, and the commits around it are not durable.
    """
    names, took = _names(stage.sizes), []
    with stage.fresh() as base, base.connect() as conn:
        conn.execute("set synchronous_commit = off")
        with conn.transaction():
            for name in names:
                jobs.fill(conn, 2, queue=name)
        base.settle()
        start = base.read()
        claim = "select id, fence from emq.claim(%s, 1, 'bench', %s)"
        for name in names * 2:
            with conn.transaction():
                began = time.perf_counter()
                held = conn.execute(claim, [name, secrets.randbits(40)]).fetchall()
                took.append(time.perf_counter() - began)
                conn.execute("select emq.complete(%s::uuid[], %s::bigint[])",
                             [[one[0] for one in held], [one[1] for one in held]])  # fmt: skip
        end, counts = base.read(), base.counts()
        if counts["archived"] != len(took) or counts["pending"]:
            raise Unsound(f"{len(took)} claims of one job each left {counts}")
    return {"jobs": len(took), **milliseconds(took), **base.cost(start, end, len(took))}


def any_(stage: Stage) -> Figures:
    """One statement looks into all of them, in the order given."""
    names, turns = list(_names(stage.sizes)), max(5, stage.sizes.claims // 5)
    took: list[float] = []
    none: list[float] = []
    claim = "select id, fence from emq.claim_any(%s::text[], %s, 'bench', %s)"
    with stage.fresh() as base, base.connect() as conn:
        for turn in range(turns + 1):
            jobs.fill(conn, 1, queue=names[-1])
            for wanted, seconds in ((1, took), (0, none)):
                began = time.perf_counter()
                found = conn.execute(claim, [names, 10, secrets.randbits(40)]).fetchall()
                if turn:
                    seconds.append(time.perf_counter() - began)
                if len(found) != wanted:
                    raise Unsound(f"claim_any got {len(found)} jobs, and {wanted} waited")
        if (held := base.counts()["active"]) != turns + 1:
            raise Unsound(f"{held} jobs are held after {turns + 1} claims of one")
    return {"jobs": turns, **milliseconds(took), "nothing_there": milliseconds(none)}
