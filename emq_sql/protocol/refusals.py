"""Stale calls that were refused, as they are on record: one by one, or counted; only read here."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg

from emq_sql.protocol.rows import Row, read

_LISTED = """
select r.at, r.id, r.task, r.queue, r.attempts, r.worker, r.verb,
       extract(epoch from r.late)::float8 as late_seconds,
       extract(epoch from r.overlap)::float8 as overlap_seconds
  from {schema}.refusal r
 where {conditions}
 order by r.at desc
 limit %(limit)s
"""

# A claim that was refused more than once ran beside the next attempt once: until its last refusal.
_CLAIMS = """
with c as (
  select r.task, r.verb, r.id, r.fence, count(*) as n, max(r.late) as late,
         max(r.overlap) as overlap, min(r.at) as first, max(r.at) as last
    from {schema}.refusal r
   where {conditions}
   group by r.task, r.verb, r.id, r.fence
)
"""
_COUNTED = """
select c.task, c.verb, sum(c.n)::bigint as refusals, count(*) as claims,
       extract(epoch from max(c.late))::float8 as late_seconds,
       extract(epoch from sum(c.overlap))::float8 as double_run_seconds
  from c
 group by c.task, c.verb
 order by sum(c.overlap) desc nulls last, sum(c.n) desc, c.task, c.verb
"""
_TOTAL = """
select coalesce(sum(k.n), 0)::bigint as refusals, count(*) as claims,
       count(distinct k.id) as jobs, min(k.first) as first_at, max(k.last) as last_at,
       extract(epoch from max(k.late))::float8 as late_seconds,
       coalesce(extract(epoch from sum(k.overlap)), 0)::float8 as double_run_seconds
  from (select c.id, c.fence, sum(c.n) as n, max(c.late) as late, max(c.overlap) as overlap,
               min(c.first) as first, max(c.last) as last
          from c group by c.id, c.fence) k
"""


def listed(
    conn: psycopg.Connection[Any], schema: str, job: UUID | None = None, task: str | None = None,
    since: timedelta | None = None, limit: int = 50,
) -> list[Row]:  # fmt: skip
    """The newest refusals first, of this job, of this task, of so long ago or less."""
    return _rows(conn, schema, _LISTED, job, task, since, limit)


def counted(
    conn: psycopg.Connection[Any], schema: str, job: UUID | None = None, task: str | None = None,
    since: timedelta | None = None,
) -> list[Row]:  # fmt: skip
    """By task and verb: refusals, stale claims, the longest `late`, and how long these claims ran
    beside the next attempt, all together.
    """
    return _rows(conn, schema, _CLAIMS + _COUNTED, job, task, since)


def total(
    conn: psycopg.Connection[Any], schema: str, job: UUID | None = None, task: str | None = None,
    since: timedelta | None = None,
) -> Row:  # fmt: skip
    """The same in one row; a claim that was refused under several verbs ran beside the next attempt
    once.
    """
    return _rows(conn, schema, _CLAIMS + _TOTAL, job, task, since)[0]


def _rows(
    conn: psycopg.Connection[Any], schema: str, query: str, job: UUID | None, task: str | None,
    since: timedelta | None, limit: int | None = None,
) -> list[Row]:  # fmt: skip
    # Only what is asked for is a condition, so that the index on it is used.
    conditions = {
        "r.id = %(job)s": job,
        "r.task = %(task)s": task,
        "r.at >= statement_timestamp() - %(since)s::interval": since,
    }
    said = " and ".join(text for text, value in conditions.items() if value is not None)
    query = query.format(schema=schema, conditions=said or "true")
    params = {"job": job, "task": task, "since": since, "limit": limit}
    return read(conn, query, params)
