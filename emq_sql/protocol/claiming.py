"""claim, claim_any, claimed and complete_and_claim: pending jobs become leases; last_chance, which
of them are on their last one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

import psycopg

from emq_sql.job import Answer, Claimed, Lease
from emq_sql.protocol import arrays, preparing
from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.troubles import named

_COLUMNS = (
    "id, fence, attempts, stalled, failures, lease_deadline, lease_ms, task, payload, headers,"
    " enqueued_at"
)
_CLAIM = "select {columns} from {schema}.claim(%s, %s, %s, %s::bigint, %s::interval)"
_CLAIM_ANY = "select {columns}, queue from {schema}.claim_any(%s, %s, %s, %s::bigint, %s::interval)"
_CLAIMED = "select {columns}, queue from {schema}.claimed(%s::bigint)"
_COMPLETE_AND_CLAIM = """
select {columns}, answers from {schema}.complete_and_claim(
  %s::uuid[], %s::bigint[], %s::text[]::jsonb[], %s, %s, %s, %s::bigint, %s::interval)
"""


def claim(
    conn: psycopg.Connection[Any], schema: str, queue: str, n: int, worker: str, nonce: int,
    lease: timedelta | None = None,
) -> list[Claimed]:  # fmt: skip
    """Up to n jobs of a queue, best rank first, held by `worker` under a fence with this nonce."""
    with named(own_transaction=True), cursor(conn) as c:
        query = _CLAIM.format(columns=_COLUMNS, schema=schema)
        rows = c.execute(
            query.encode(), [queue, n, worker, nonce, lease], prepare=preparing.wanted(conn)
        ).fetchall()
    return [_claimed(row, queue) for row in rows]


def claim_any(
    conn: psycopg.Connection[Any], schema: str, queues: Sequence[str], n: int, worker: str,
    nonce: int, lease: timedelta | None = None,
) -> list[Claimed]:  # fmt: skip
    """Up to n jobs in all, from the first of these queues, then the next: one statement."""
    with named(own_transaction=True), cursor(conn) as c:
        query = _CLAIM_ANY.format(columns=_COLUMNS, schema=schema)
        rows = c.execute(
            query.encode(), [list(queues), n, worker, nonce, lease], prepare=preparing.wanted(conn)
        ).fetchall()
    return [_claimed(row, row[11]) for row in rows]


def claimed(conn: psycopg.Connection[Any], schema: str, nonce: int) -> list[Claimed]:
    """What the claim call with this nonce holds now: for a claim whose reply was lost."""
    with named(), cursor(conn) as c:
        query = _CLAIMED.format(columns=_COLUMNS, schema=schema)
        rows = c.execute(query.encode(), [nonce]).fetchall()
    return [_claimed(row, row[11]) for row in rows]


def complete_and_claim(
    conn: psycopg.Connection[Any], schema: str, done: Sequence[tuple[Lease, str | None]],
    queue: str, n: int, worker: str, nonce: int, lease: timedelta | None = None,
) -> tuple[list[Answer], list[Claimed]]:  # fmt: skip
    """Complete what is done and claim more, in one round trip and one commit."""
    ids = arrays.of_uuids(lease.id for lease, _ in done)
    fences = arrays.of_numbers(lease.fence for lease, _ in done)
    results = arrays.of_results([result for _, result in done])
    with named(own_transaction=True), cursor(conn) as c:
        query = _COMPLETE_AND_CLAIM.format(columns=_COLUMNS, schema=schema)
        rows = c.execute(
            query.encode(),
            [ids, fences, results, queue, n, worker, nonce, lease],
            prepare=preparing.wanted(conn),
        ).fetchall()
    answers: list[Answer] = ["done"] * len(done)
    if rows and rows[-1][0] is None:
        answers = rows.pop()[11]
    return answers, [_claimed(row, queue) for row in rows]


def last_chance(conn: psycopg.Connection[Any], schema: str, leases: Sequence[Lease]) -> set[UUID]:
    """Of these held jobs those that were lost before, and are dead letters if lost once more."""
    query = f"select {schema}.last_chance(%s::uuid[], %s::bigint[])"
    params = [[lease.id for lease in leases], [lease.fence for lease in leases]]
    with named(own_transaction=True), cursor(conn) as c:
        row = c.execute(query.encode(), params).fetchone()
    assert row is not None
    return set(row[0])


def _claimed(row: tuple[Any, ...], queue: str) -> Claimed:
    lease = Lease(row[0], row[1], row[2], row[5], _length(row[6]))
    payload, headers = _object(row[8]), _object(row[9])
    return Claimed(lease, queue, row[7], payload, headers, row[3], row[4], row[10])


@lru_cache(maxsize=256)
def _length(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def _object(value: Any) -> Any:
    """A jsonb value; some frameworks tell psycopg to leave jsonb as text."""
    return json.loads(value) if isinstance(value, str) else value
