"""Ends a run inside the transaction that holds its effects."""

from __future__ import annotations

import time

from sqlalchemy.engine import Connection

from emq_sql.effects.committing import is_one_transaction
from emq_sql.errors import EmqError, LeaseBusy, UnsupportedHandle
from emq_sql.job import End, Lease, SettleAnswer
from emq_sql.protocol import settling
from emq_sql.protocol.adapt import commits_by_itself, driver_connection
from emq_sql.protocol.speaking import speaker, speaker_of
from emq_sql.rules.payload import encode_result

# An extension holds the row for a moment. Together about half a second.
PAUSES = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256)


def complete_in(handle: object, schema: str, lease: Lease, result: object) -> None:
    """Complete the job in the transaction of `handle`, as `settle_in` does it.

    Raises BadPayload or PayloadTooLarge for the result, before anything is sent.
    """
    text = None if result is None else encode_result(result)
    settle_in(handle, schema, lease, End("complete", text))


def settle_in(
    handle: object, schema: str, lease: Lease, end: End, *, last: bool = False
) -> SettleAnswer:
    """End the run in the transaction of `handle`: that and its effects are committed, or neither.

    A repeat in the same transaction is a no-op. Nothing is committed here, and nothing is flushed
    or retried but the question whether the row is free. `last` says that it is the transaction of a
    block, marked at its begin, and that the commit is next, so that the server may bound what is
    left of it: without the mark it is another transaction, and CannotGuard is raised.
    Raises LeaseLost when the fence is stale, JobFinished when another transaction has ended the
    run; the server has then failed this one, so that even a handler that goes on can commit
    nothing of it. Raises LeaseBusy when another open transaction keeps the row; UnsupportedHandle
    for a handle that has no transaction, as in autocommit.
    """
    must_be_in_transaction(handle)
    speaks = speaker(handle)
    for pause in (*PAUSES, None):
        answer = settling.settle(speaks, schema, lease, end, last=last)
        if answer is None:
            raise is_one_transaction("that was ended within it")
        if answer != "busy":
            return answer
        if pause is not None:
            time.sleep(pause)
    raise busy(lease)


def settle_on(connection: Connection, schema: str, lease: Lease, end: End) -> SettleAnswer:
    """One such question, the last before the commit, on a Connection with any driver."""
    answer = settling.settle(speaker_of(connection), schema, lease, end, last=True)
    if answer is None:
        raise is_one_transaction("that was ended within it")
    return answer


def must_be_in_transaction(handle: object) -> None:
    """Raise UnsupportedHandle for a handle whose next statement would be committed on its own."""
    if commits_by_itself(driver_connection(handle)):
        raise UnsupportedHandle(
            "This connection is in autocommit: what is done here would be committed on its own.",
            hint="Use it inside `with connection.transaction():`, or a session's transaction.",
        )


def driver_in(handle: object) -> object | None:
    """The psycopg connection under a Session, a Connection, or itself; None for any other thing."""
    try:
        return driver_connection(handle)
    except EmqError:
        return None


def busy(lease: Lease) -> LeaseBusy:
    """Another transaction keeps the row."""
    return LeaseBusy(
        f"Another open transaction holds the ledger row of job {lease.id}.",
        hint="Roll back and let the job be retried, or end it again.",
    )
