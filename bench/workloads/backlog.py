"""What a claim costs when a thousand jobs wait, and when ten million do.

Lines are filled once a session through emq.enqueue_many, on the server. Then ten jobs are added,
ten are claimed and completed, again and again, so that the line keeps its length. Timed is the
claim's statement, in a transaction of its own that is committed afterwards: what a commit costs
does not hang on the length of the line.
"""

from __future__ import annotations

import secrets
import time
from functools import partial

from bench.settings import Sizes
from bench.suite import jobs
from bench.suite.cell import Cell, Figures, Unsound, milliseconds
from bench.suite.stage import Base, Stage

BATCH = 10
_WARM = 5
_CLAIM = "select id, fence from emq.claim('default', %s, 'bench', %s)"


def cells(sizes: Sizes, *, huge: bool) -> list[Cell]:
    lengths = (*sizes.backlogs, sizes.huge_backlog) if huge else sizes.backlogs
    shortest = f"backlog:{lengths[0]}"
    return [
        Cell("backlog", str(length), f"claims of {BATCH} with {length:,} jobs waiting", "p50_ms",
             partial(claims, length=length),
             beside=None if length == lengths[0] else shortest)
        for length in lengths
    ]  # fmt: skip


def claims(stage: Stage, length: int) -> Figures:
    base = stage.kept(f"backlog_{length}", partial(_filled, length=length))
    before, start = base.counts(), base.read()
    took = []
    with base.connect() as conn:
        for turn in range(_WARM + stage.sizes.claims):
            jobs.fill(conn, BATCH)
            with conn.transaction():
                began = time.perf_counter()
                held = conn.execute(_CLAIM, [BATCH, secrets.randbits(40)]).fetchall()
                if turn >= _WARM:
                    took.append(time.perf_counter() - began)
            ids, fences = [one[0] for one in held], [one[1] for one in held]
            conn.execute("select emq.complete(%s::uuid[], %s::bigint[])", [ids, fences])
            if len(held) != BATCH:
                raise Unsound(f"a claim of {BATCH} got {len(held)} of {length}")
    end, after = base.read(), base.counts()
    if before["pending"] != after["pending"] or after["active"]:
        raise Unsound(f"{before} became {after}")
    return {
        "jobs": len(took) * BATCH,
        **milliseconds(took),
        **base.cost(start, end, len(took) * BATCH),
    }


def _filled(base: Base, length: int) -> None:
    with base.connect() as conn:
        conn.execute("set synchronous_commit = off")  # of the filling alone, which is not timed
        jobs.fill(conn, length)
        conn.execute("vacuum analyze")
