"""What was in the archive comes out of the files again, value for value."""

from __future__ import annotations

import json
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emq_sql.upkeep.export.day import Sizes
from emq_sql.upkeep.export.importing import import_day
from emq_sql.upkeep.export.places import Directory
from tests.export.days import close, exporter, filled
from tests.protocol.calls import Ledger
from tests.protocol.history import days_ago

NUMBERS = st.one_of(
    st.integers(-(10**40), 10**40).map(str),
    st.tuples(st.integers(), st.integers(-200, 200)).map(lambda n: f"{n[0]}e{n[1]}"),
    st.decimals(allow_nan=False, allow_infinity=False, places=30).map(lambda n: f"{n:f}"),
)
# All but the one that PostgreSQL has no place for.
STRINGS = st.text(max_size=20).map(lambda text: text.replace("\0", ""))
SCALARS = st.one_of(NUMBERS, STRINGS.map(json.dumps), st.sampled_from(["null", "true", "false"]))


def _object(pairs: dict[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in pairs.items()) + "}"


JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: f"[{','.join(items)}]"),
        st.dictionaries(STRINGS, inner, max_size=4).map(_object),
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(STRINGS, JSON, max_size=5).map(_object)
NAMES = STRINGS.map(lambda text: f"n{text}")

JOBS = st.fixed_dictionaries({
    "payload": OBJECTS, "headers": st.none() | OBJECTS, "result": st.none() | JSON,
    "task": NAMES, "worker": st.none() | NAMES, "error": st.none() | STRINGS,
    "fence": st.integers(1 << 40, (1 << 63) - 1), "micros": st.integers(0, 86_399_999_999),
    "status": st.sampled_from(["completed", "cancelled", "discarded"]),
    "gone": st.booleans(), "counts": st.lists(st.integers(0, 30_000), min_size=3, max_size=3),
})  # fmt: skip

_ADD = """
with j as (
  insert into emq.job
    (id, enqueued_at, priority, queue, task, payload, headers, max_attempts, lease_ms)
  select emq.job_id('k' || %(n)s, %(day)s), %(day)s, 4, 'q', %(task)s, %(payload)s::jsonb,
         %(headers)s::jsonb, 7, 60000
   where not %(gone)s
), a as (
  insert into emq.attempt
    (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker, error)
  select emq.job_id('k' || %(n)s, %(day)s), %(fence)s, %(day)s, %(day)s, %(day)s, 3, 'failed', 'q',
         'w', %(error)s
   where %(error)s::text is not null
)
insert into emq.archive
  (id, fence, finished_at, claimed_at, lease_deadline, attempts, stalled, failures, status, queue,
   worker, result)
select emq.job_id('k' || %(n)s, %(day)s), case when %(status)s = 'completed' then %(fence)s end,
       %(day)s::timestamptz + %(micros)s * interval '1 us', %(day)s,
       %(day)s::timestamptz + interval '30 s', %(attempts)s, %(stalled)s, %(failures)s, %(status)s,
       'q', %(worker)s, %(result)s::jsonb
"""
_DIFFERENT = """
with x as (
  select r.id, r.queue, r.task, r.status, r.attempts::bigint, r.stalled::bigint,
         r.failures::bigint, r.fence, r.worker, r.enqueued_at, r.claimed_at, r.lease_deadline,
         r.finished_at, r.priority::bigint, r.max_attempts::bigint, r.lease_ms::bigint,
         r.payload::text, r.headers::text, r.result::text, r.history::text
    from emq.export_rows(%(day)s, null, null, 1000000) r
), y as (
  select id, queue, task, status, attempts, stalled, failures, fence, worker, enqueued_at,
         claimed_at, lease_deadline, finished_at, priority, max_attempts, lease_ms, payload::text,
         headers::text, result::text, history::text
    from history where finished_at >= %(day)s and finished_at < %(day)s + 1
)
select * from ((table x except all table y) union all (table y except all table x)) d
"""


def add(ledger: Ledger, day: date, n: int, job: dict[str, Any]) -> None:
    counts = dict(zip(("attempts", "stalled", "failures"), job["counts"], strict=True))
    ledger.conn.execute(_ADD, {**job, **counts, "n": n, "day": day})


def test_a_round_trip_keeps_every_value(ledger: Ledger, folder: Path) -> None:
    ago = count(10)

    @settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(JOBS, min_size=1, max_size=8))
    def same(jobs: list[dict[str, Any]]) -> None:
        day = days_ago(ledger, next(ago))
        for n, job in enumerate(jobs):
            add(ledger, day, n, job)
        close(ledger, day)
        sizes = Sizes(part=5, page=2)
        assert exporter(ledger, folder, day, sizes=sizes).export() == ("exported", len(jobs))
        done = import_day(ledger.conn, "emq", Directory(folder / str(day)), "history")
        assert (done.rows, done.added) == (len(jobs), len(jobs))
        assert ledger.conn.execute(_DIFFERENT, {"day": day}).fetchall() == []
        _files_say_what_the_table_says(ledger, folder, day)

    same()
    ledger.run("delete from emq.job")


def _files_say_what_the_table_says(ledger: Ledger, folder: Path, day: date) -> None:
    """As a program would read them that knows nothing of us: JSON is text, instants are UTC."""
    rows = [
        row for path in sorted((folder / str(day)).glob("part-*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]  # fmt: skip
    stored = ledger.rows(
        "select r.id::text, r.payload, r.result, r.worker, r.finished_at, r.fence"
        " from emq.export_rows(%s, null, null, 1000000) r", day,
    )  # fmt: skip
    names = ("id", "payload", "result", "worker", "finished_at", "fence")
    assert [tuple(row[name] for name in names) for row in rows] == stored


def test_importing_a_day_twice_does_not_double_it(ledger: Ledger, folder: Path) -> None:
    day = filled(ledger, 10, 3)
    close(ledger, day)
    exporter(ledger, folder, day).export()
    place = Directory(folder / str(day))
    assert import_day(ledger.conn, "emq", place, "public.history").added == 3
    assert import_day(ledger.conn, "emq", place, "history").added == 0
    assert ledger.one("select count(*) from history") == 3
