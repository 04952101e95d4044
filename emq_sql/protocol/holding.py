"""What a holder may do with its leases: settle them (complete, fail, retry, snooze, release,
stall), extend and keep them, guard a transaction by one, and ask what became of it.

Each is fenced: a stale fence changes nothing and is answered `lost`. `busy` means that an open
transaction holds the row right now: ask again, never give up because of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg

from emq_sql.job import Answer, KeepAnswer, Lease, Outcome, PutBackAnswer
from emq_sql.protocol import arrays
from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.characters import in_characters_of
from emq_sql.protocol.troubles import named
from emq_sql.rules.verdict import Reason


def complete(
    conn: psycopg.Connection[Any], schema: str, leases: Sequence[Lease],
    results: Sequence[str | None] | None = None, *, own: bool = False,
) -> list[Answer]:  # fmt: skip
    """Retire what is still held; a repeat by the fence that completed it is `done` too."""
    query = f"select {schema}.complete(%s::uuid[], %s::bigint[], %s::text[]::jsonb[])"
    return _call(
        conn, query, leases, [None if results is None else arrays.of_results(results)], own
    )


def retry(
    conn: psycopg.Connection[Any], schema: str, leases: Sequence[Lease],
    delays: Sequence[timedelta], errors: Sequence[str], *, own: bool = False,
) -> list[PutBackAnswer]:  # fmt: skip
    """Count a failure; the job waits for its delay, or is a dead letter when out of budget.

    An error is kept in escapes where the database's encoding may lack its characters: a failure is
    recorded whatever it says.
    """
    query = f"select {schema}.retry(%s::uuid[], %s::bigint[], %s::interval[], %s::text[])"
    return _call(conn, query, leases, [list(delays), _in_characters_of(conn, errors)], own)


def fail(
    conn: psycopg.Connection[Any], schema: str, leases: Sequence[Lease], reasons: Sequence[Reason],
    delays: Sequence[timedelta], errors: Sequence[str], *, own: bool = False,
) -> list[PutBackAnswer]:  # fmt: skip
    """Each run has failed for its reason: an `exception` or a `timeout` counts a failure and waits
    for its delay, as `retry` does; `permanent` and `expired` make a dead letter at once; `no
    handler` waits at no cost, until the queue's `unknown_after`.
    """
    query = (
        f"select {schema}.fail(%s::uuid[], %s::bigint[], %s::text[], %s::interval[], %s::text[])"
    )
    rest = [list(reasons), list(delays), _in_characters_of(conn, errors)]
    return _call(conn, query, leases, rest, own)


def snooze(
    conn: psycopg.Connection[Any], schema: str, leases: Sequence[Lease],
    delays: Sequence[timedelta], *, own: bool = False,
) -> list[PutBackAnswer]:  # fmt: skip
    """The job waits for its delay; no budget is used."""
    query = f"select {schema}.snooze(%s::uuid[], %s::bigint[], %s::interval[])"
    return _call(conn, query, leases, [list(delays)], own)


def release(
    conn: psycopg.Connection[Any], schema: str, leases: Sequence[Lease], *, own: bool = False
) -> list[PutBackAnswer]:
    """The job goes back to the head of its level at once; no budget is used."""
    query = f"select {schema}.release(%s::uuid[], %s::bigint[])"
    return _call(conn, query, leases, [], own)


def extend(
    conn: psycopg.Connection[Any], schema: str, leases: Sequence[Lease],
    lease: timedelta | None = None, *, own: bool = False,
) -> list[Answer]:  # fmt: skip
    """Move the deadlines forward from now, by each job's own lease or by the one given."""
    query = f"select {schema}.extend(%s::uuid[], %s::bigint[], %s::interval)"
    return _call(conn, query, leases, [lease], own)


def keep(
    conn: psycopg.Connection[Any], schema: str, leases: Sequence[Lease], queues: Sequence[str],
    lease: timedelta | None = None, *, own: bool = False,
) -> tuple[list[KeepAnswer], list[str]]:  # fmt: skip
    """Extend, and learn in the same statement which of these queues are paused; an answer may be
    `cancelled` here, when an operator ended the job and with it the fence.
    """
    query = f"select answers, paused from {schema}.keep(%s::uuid[], %s::bigint[], %s, %s::interval)"
    ids, fences = [held.id for held in leases], [held.fence for held in leases]
    with named(own_transaction=own), cursor(conn) as c:
        row = c.execute(query.encode(), [ids, fences, list(queues), lease]).fetchone()
    assert row is not None
    return row[0], row[1]


def sql_stops(conn: psycopg.Connection[Any], schema: str, ids: Sequence[UUID]) -> set[UUID]:
    """Those of these jobs whose own SQL an operator wants ended."""
    with named(), cursor(conn) as c:
        row = c.execute(f"select {schema}.sql_stops(%s::uuid[])".encode(), [list(ids)]).fetchone()
    assert row is not None
    return set(row[0])


def stall(
    conn: psycopg.Connection[Any], schema: str, leases: Sequence[Lease], errors: Sequence[str],
    *, own: bool = False,
) -> list[PutBackAnswer]:  # fmt: skip
    """The runs are known to be lost: what the reaper would do at the end of the lease, at once."""
    query = f"select {schema}.stall(%s::uuid[], %s::bigint[], %s::text[])"
    return _call(conn, query, leases, [_in_characters_of(conn, errors)], own)


def note_refusals(
    conn: psycopg.Connection[Any], schema: str, leases: Sequence[Lease], verbs: Sequence[str],
    ago: Sequence[timedelta], *, again: bool = False,
) -> int:  # fmt: skip
    """Put on record that these calls were refused, so long ago, in transactions that were rolled
    back; answers how many. `again` says that the answer to a first try was lost: what is on record
    of it is not recorded twice.
    """
    query = f"select {schema}.note_refusals(%s::uuid[], %s::bigint[], %s, %s::interval[], %s)"
    ids, fences = [lease.id for lease in leases], [lease.fence for lease in leases]
    with named(own_transaction=True), cursor(conn) as c:
        row = c.execute(query.encode(), [ids, fences, list(verbs), list(ago), again]).fetchone()
    assert row is not None
    return int(row[0])


def outcome(conn: psycopg.Connection[Any], schema: str, id: UUID, fence: int) -> Outcome:
    """What became of this id under this fence."""
    with named(), cursor(conn) as c:
        row = c.execute(f"select {schema}.outcome(%s, %s)".encode(), [id, fence]).fetchone()
    assert row is not None
    answer: Outcome = row[0]
    return answer


def _in_characters_of(conn: psycopg.Connection[Any], errors: Sequence[str]) -> list[str]:
    encoding = conn.info.parameter_status("server_encoding")
    return [in_characters_of(encoding, error) for error in errors]


def _call(
    conn: psycopg.Connection[Any], query: str, leases: Sequence[Lease], rest: list[Any], own: bool
) -> list[Any]:
    if not leases:
        return []
    ids = arrays.of_uuids(lease.id for lease in leases)
    params = [ids, arrays.of_numbers(lease.fence for lease in leases), *rest]
    with named(own_transaction=own), cursor(conn) as c:
        row = c.execute(query.encode(), params).fetchone()
    assert row is not None
    answers: list[Any] = row[0]
    return answers
