"""enqueue and enqueue_many: jobs are added in the transaction of the connection given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg

from emq_sql.job import USUAL_PRIORITY, Enqueued, NewJob
from emq_sql.protocol import arrays
from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.troubles import named

_ENQUEUE = """
select id, status from {schema}.{verb}(
  %s, %s, %s::jsonb, %s::uuid, %s, %s::timestamptz, %s::interval, %s, %s::interval, %s::jsonb)
"""
_ENQUEUE_MANY = """
select {schema}.enqueue_many(
  %s, %s::uuid[], %s::text[], %s::text[]::jsonb[], %s::int[], %s::timestamptz[], %s::interval[],
  %s::int[], %s::interval[], %s::text[]::jsonb[])
"""


def enqueue(
    conn: psycopg.Connection[Any], schema: str, queue: str, job: NewJob, *, own: bool = False
) -> Enqueued:
    """Add one job; `own` says that the statement commits by itself."""
    verb = "enqueue_unless_waiting" if job.unless_waiting else "enqueue"
    with named(own_transaction=own), cursor(conn) as c:
        row = c.execute(
            _ENQUEUE.format(schema=schema, verb=verb).encode(),
            [
                queue, job.task, job.payload, job.id, job.priority, job.run_at, job.delay,
                job.max_attempts, job.lease, job.headers,
            ],
        ).fetchone()  # fmt: skip
    assert row is not None
    return Enqueued(row[0], row[1])


def enqueue_many(
    conn: psycopg.Connection[Any],
    schema: str,
    queue: str,
    jobs: Sequence[NewJob],
    *,
    own: bool = False,
) -> list[Enqueued]:
    """Add jobs of one queue with one statement; the answers are in the order given."""
    if not jobs:
        return []
    with named(own_transaction=own), cursor(conn) as c:
        row = c.execute(
            _ENQUEUE_MANY.format(schema=schema).encode(),
            [
                queue,
                arrays.of_uuids(j.id for j in jobs),
                arrays.of_texts(j.task for j in jobs),
                arrays.of_texts(j.payload for j in jobs),
                _priorities(jobs),
                _column(j.run_at for j in jobs),
                _column(j.delay for j in jobs),
                _column(j.max_attempts for j in jobs),
                _column(j.lease for j in jobs),
                _column(j.headers for j in jobs),
            ],
        ).fetchone()
    assert row is not None
    return [Enqueued(job.id, status) for job, status in zip(jobs, row[0], strict=True)]


def _priorities(jobs: Sequence[NewJob]) -> str | None:
    if all(j.priority == USUAL_PRIORITY for j in jobs):
        return None
    return arrays.of_numbers(j.priority for j in jobs)


def _column(values: Iterable[Any]) -> list[Any] | None:
    """The values in step, or None when there are none: SQL then takes its shortest path."""
    column = list(values)
    return column if any(value is not None for value in column) else None
