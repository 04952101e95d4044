"""enqueue, enqueue_many and enqueue_batch: jobs join the transaction of the connection given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import psycopg

from emq_sql.errors import Refused
from emq_sql.job import USUAL_PRIORITY, Enqueued, NewBatch, NewJob
from emq_sql.protocol import arrays, preparing
from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.troubles import named


class IdTaken(Refused):
    """An id of a batch exists: of an earlier try whose reply was lost, or of another's job."""


_ENQUEUE = """
select id, status from {schema}.{verb}(
  %s, %s, %s::jsonb, %s::uuid, %s, %s::timestamptz, %s::interval, %s, %s::interval, %s::jsonb)
"""
_ENQUEUE_USUAL = "select id, status from {schema}.{verb}(%s, %s, %s::jsonb, %s::uuid, %s)"
_NOTHING_SAID = [None] * 5
_ENQUEUE_MANY = """
select {schema}.enqueue_many(
  %s, %s::uuid[], %s::text[], %s::text[]::jsonb[], %s::int[], %s::timestamptz[], %s::interval[],
  %s::int[], %s::interval[], %s::text[]::jsonb[])
"""
_ENQUEUE_UNIQUE = """
select ids, statuses from {schema}.enqueue_unique(
  %s, %s::text[], %s::uuid[], %s::text[], %s::text[]::jsonb[], %s::text[], %s::interval[],
  %s::int[], %s::timestamptz[], %s::interval[], %s::int[], %s::interval[], %s::text[]::jsonb[])
"""
_ENQUEUE_BATCH = """
select {schema}.enqueue_batch(
  %s, %s, %s::uuid[], %s::jsonb, %s, %s, %s::interval, %s::jsonb)
"""


def enqueue(
    conn: psycopg.Connection[Any], schema: str, queue: str, job: NewJob, *, own: bool = False
) -> Enqueued:
    """Add one job; `own` says that the statement commits by itself."""
    if job.unique is not None:
        return enqueue_unique(conn, schema, queue, [job], own=own)[0]
    verb = "enqueue_unless_waiting" if job.unless_waiting else "enqueue"
    params = [queue, job.task, job.payload, job.id.hex, job.priority]
    rest = [job.run_at, job.delay, job.max_attempts, job.lease, job.headers]
    usual = rest == _NOTHING_SAID  # what is not sent need not be parsed
    query = _enqueue_text(schema, verb, usual=usual)
    with named(own_transaction=own), cursor(conn) as c:
        c.execute(query, params if usual else params + rest, prepare=preparing.wanted(conn))
        row = c.fetchone()
    assert row is not None
    return Enqueued(row[0], row[1])


@lru_cache
def _enqueue_text(schema: str, verb: str, *, usual: bool) -> bytes:
    return (_ENQUEUE_USUAL if usual else _ENQUEUE).format(schema=schema, verb=verb).encode()


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
    if any(j.unique is not None for j in jobs):
        return enqueue_unique(conn, schema, queue, jobs, own=own)
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


def enqueue_unique(
    conn: psycopg.Connection[Any],
    schema: str,
    queue: str,
    jobs: Sequence[NewJob],
    *,
    own: bool = False,
) -> list[Enqueued]:
    """Add jobs of one queue, some of which have a unique key; where another job holds that, the
    answer is `duplicate` and the id of that job.
    """
    keys = [j.unique for j in jobs]
    with named(own_transaction=own), cursor(conn) as c:
        row = c.execute(
            _ENQUEUE_UNIQUE.format(schema=schema).encode(),
            [
                queue,
                [k and k.key for k in keys],
                arrays.of_uuids(j.id for j in jobs),
                arrays.of_texts(j.task for j in jobs),
                arrays.of_texts(j.payload for j in jobs),
                [k and k.scope for k in keys],
                [k and k.span for k in keys],
                _priorities(jobs),
                _column(j.run_at for j in jobs),
                _column(j.delay for j in jobs),
                _column(j.max_attempts for j in jobs),
                _column(j.lease for j in jobs),
                _column(j.headers for j in jobs),
            ],
        ).fetchone()
    assert row is not None
    return [Enqueued(id, status) for id, status in zip(*row, strict=True)]


def enqueue_batch(
    conn: psycopg.Connection[Any], schema: str, batch: NewBatch, *, own: bool = False
) -> None:
    """Add all jobs of a batch; raises IdTaken, and adds none, when an id of it exists already."""
    params = [
        batch.queue, batch.task, arrays.of_uuids(batch.ids), batch.payloads, batch.priority,
        batch.max_attempts, batch.lease, batch.headers,
    ]  # fmt: skip
    with named(own_transaction=own), cursor(conn) as c:
        try:
            c.execute(_ENQUEUE_BATCH.format(schema=schema).encode(), params)
        except psycopg.errors.UniqueViolation as error:
            raise IdTaken(
                "An id that was minted for one of these jobs is another job's.",
                hint="Is this a copy of a machine or process that was saved while it ran?"
                " Enqueue again: new ids are minted.",
            ) from error


def _priorities(jobs: Sequence[NewJob]) -> str | None:
    if all(j.priority == USUAL_PRIORITY for j in jobs):
        return None
    return arrays.of_numbers(j.priority for j in jobs)


def _column(values: Iterable[Any]) -> list[Any] | None:
    """The values in step, or None when there are none: SQL then takes its shortest path."""
    column = list(values)
    return column if any(value is not None for value in column) else None
