"""tidy as a property: what goes is what is past its retention, whatever was set before and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.protocol.calls import Ledger
from tests.protocol.history import days_ago, ledger_keeps, queue_keeps, tidied, tidy

HOUR = timedelta(hours=1)
DAY = 24 * HOUR
OLDEST = 9  # days
WITHOUT_PARTITION = {4, 6}
QUEUES = ("a", "b", "unset")
FINISH = """
with e as (
  insert into emq.job (id, enqueued_at, priority, queue, task, payload)
  select r.id, r.at - interval '5 min', 2, r.queue, 't', '{}'
    from unnest(%(ids)s::uuid[], %(ats)s::timestamptz[], %(queues)s::text[]) as r (id, at, queue)
)
insert into emq.archive (id, fence, finished_at, attempts, stalled, failures, status, queue)
select r.id, case when r.status = 'completed' then 1 end, r.at, 1, 0, 0, r.status, r.queue
  from unnest(%(ids)s::uuid[], %(ats)s::timestamptz[], %(queues)s::text[], %(statuses)s::text[])
         as r (id, at, queue, status)
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """Hours that the ledger, and each queue for its completed and its other jobs, keep."""

    ledger: int
    queues: dict[tuple[str, bool], int]

    def hours(self, queue: str, status: str) -> timedelta:
        return HOUR * self.queues.get((queue, status == "completed"), self.ledger)


@dataclass(frozen=True, slots=True)
class Row:
    queue: str
    status: str
    hours: int

    def gone(self, kept: Kept, now: datetime, written: datetime) -> bool:
        """A day goes as a whole, an hour after it is over at the earliest."""
        at = written - self.hours * HOUR
        end = at.replace(hour=0, minute=0, second=0, microsecond=0) + DAY
        if (written.date() - at.date()).days in WITHOUT_PARTITION:
            end = at
        return end <= now - max(kept.hours(self.queue, self.status), HOUR)


HOURS = st.integers(1, 24 * OLDEST)
KEPT = st.builds(
    Kept,
    HOURS,
    st.dictionaries(st.tuples(st.sampled_from(QUEUES[:2]), st.booleans()), HOURS, max_size=4),
)
ROWS = st.lists(
    st.builds(
        Row, st.sampled_from(QUEUES), st.sampled_from(("completed", "cancelled", "discarded")),
        st.integers(0, 24 * OLDEST),
    ),
    min_size=1, max_size=40,
)  # fmt: skip


def put(ledger: Ledger, rows: list[Row], written: datetime) -> list[UUID]:
    """Finished jobs with their envelopes: history cannot be waited for."""
    ids = ledger.column("select emq.uuid7() from generate_series(1, %s)", len(rows))
    named: dict[str, Any] = {
        "ids": ids, "ats": [written - row.hours * HOUR for row in rows],
        "queues": [row.queue for row in rows], "statuses": [row.status for row in rows],
    }  # fmt: skip
    ledger.conn.execute(FINISH.encode(), named)
    return ids


def keep(ledger: Ledger, kept: Kept) -> None:
    ledger_keeps(ledger, retention=f"{kept.ledger} h")
    for queue in QUEUES[:2]:
        for completed, name in ((True, "retention"), (False, "cancelled_retention")):
            hours = kept.queues.get((queue, completed))
            queue_keeps(ledger, queue, **{name: f"{hours} h" if hours else None})


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(ROWS, st.lists(st.tuples(KEPT, st.integers(0, 4)), max_size=2), KEPT, st.integers(1, 50))
def test_what_is_younger_than_its_retention_stays_and_what_is_older_by_a_day_goes(
    ledger: Ledger, other: Ledger, rows: list[Row], before: list[tuple[Kept, int]], last: Kept,
    limit: int,
) -> None:  # fmt: skip
    """Whatever the settings were in the middle of other visits. All is rolled back in the end."""
    for n in range(OLDEST + 2):
        if n not in WITHOUT_PARTITION:
            days_ago(ledger, n)
    other.conn.rollback()  # of an example that failed in the middle
    written: datetime = other.one("select clock_timestamp() at time zone 'utc'")
    other.run("set timezone = 'UTC'")
    ids = put(other, rows, written)
    for kept, steps in before:
        keep(other, kept)
        for _ in range(steps):
            tidy(other, limit)
        other.run("update emq.tidying set ended_at = ended_at - interval '1 day'")
    keep(other, last)
    tidied(other, limit)
    now: datetime = other.one("select clock_timestamp() at time zone 'utc'")
    left = set(other.column("select id from emq.archive"))
    assert left == set(other.column("select id from emq.job"))
    gone = {row for id, row in zip(ids, rows, strict=True) if id not in left}
    stayed = {row for id, row in zip(ids, rows, strict=True) if id in left}
    other.conn.rollback()
    every = [last, *(kept for kept, _ in before)]
    assert {row for row in gone if not any(row.gone(kept, now, written) for kept in every)} == set()
    assert {row for row in stayed if row.gone(last, written, written)} == set()
