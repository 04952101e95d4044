"""A month of finished jobs is kept: does a drain stay as fast as on an empty ledger?"""

from __future__ import annotations

from functools import partial

from bench.settings import NOOP_WORKER, Sizes
from bench.suite.cell import Cell, Figures
from bench.suite.draining import drained
from bench.suite.jobs import PAD
from bench.suite.stage import Base, Stage

# A month cannot be waited for: these rows are written directly, as enqueue and complete leave them.
_FILL = """
with made as (
  insert into emq.job (id, enqueued_at, priority, queue, task, payload)
  select emq.job_id('k' || g, at), at, 2, 'default', 'noop',
         jsonb_build_object('n', g, 'pad', %(pad)s::text)
    from generate_series(1, %(rows)s) g,
         lateral (select %(day)s::date + g * interval '80000 s' / %(rows)s as at) instant
  returning id, enqueued_at
)
insert into emq.archive
  (id, fence, finished_at, claimed_at, attempts, stalled, failures, status, queue, worker)
select id, 1::bigint << 40, enqueued_at + interval '1 s', enqueued_at + interval '0.9 s', 1, 0, 0,
       'completed', 'default', 'web-7:12345:1'
  from made
"""


def cells(sizes: Sizes, *, huge: bool) -> list[Cell]:
    del huge
    kept = f"{sizes.history_days} days of {sizes.history_rows:,} jobs kept"
    return [
        Cell("history", "drain", f"no-op handler, {kept}", "per_second",
             drain, beside="drain:noop-1"),
    ]  # fmt: skip


def drain(stage: Stage) -> Figures:
    sizes = stage.sizes
    base = stage.kept("history", partial(_filled, sizes=sizes))
    return drained(stage, base, NOOP_WORKER, sizes.drain_jobs, sizes.drain_seconds)


def _filled(base: Base, sizes: Sizes) -> None:
    with base.connect() as conn:
        conn.execute("set synchronous_commit = off")  # of the filling alone, which is not timed
        conn.execute("""select emq.set_ledger('{"retention": "1 year"}')""")
        for ago in range(sizes.history_days, 0, -1):
            row = conn.execute("select (now() at time zone 'utc')::date - %s::int", [ago])
            (day,) = row.fetchone() or (None,)
            conn.execute("select emq.archive_days(-1, %s::date + 1)", [day])
            conn.execute(_FILL, {"day": day, "rows": sizes.history_rows, "pad": PAD})
        conn.execute("vacuum analyze")
