"""Completing a job inside the transaction that holds its effects."""

from __future__ import annotations

import time

from psycopg.pq import TransactionStatus

from emq_sql.errors import LeaseBusy, LeaseLost, UnsupportedHandle
from emq_sql.job import Lease
from emq_sql.protocol import holding
from emq_sql.protocol.adapt import driver_connection
from emq_sql.rules.payload import encode_result

# An extension holds the row for a moment. Together about half a second.
_PAUSES = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256)


def complete_in(handle: object, schema: str, lease: Lease, result: object) -> None:
    """Complete the job in the transaction of `handle`: both are committed, or neither.

    A repeat under the fence that completed it is a no-op. Nothing is committed here, and nothing is
    flushed or retried but the question whether the row is free.
    Raises LeaseLost when the fence is stale; the server has then ended the transaction, so that
    even a handler that goes on can commit nothing of it. Raises LeaseBusy when another open
    transaction keeps the row; BadPayload or PayloadTooLarge for the result, before anything is
    sent; UnsupportedHandle for a handle that has no transaction, as in autocommit.
    """
    text = None if result is None else encode_result(result)
    connection = driver_connection(handle)
    idle = connection.info.transaction_status == TransactionStatus.IDLE
    if connection.autocommit and idle:
        raise UnsupportedHandle(
            "This connection is in autocommit: the completion would be committed on its own.",
            hint="Complete inside `with connection.transaction():`, or in a session's transaction.",
        )
    for pause in (*_PAUSES, None):
        (answer,) = holding.complete(connection, schema, [lease], [text])
        if answer == "done":
            return
        if answer == "lost":
            # Raises, and so aborts the transaction on the server: effects cannot be committed by a
            # handler that swallows the error.
            holding.guard(connection, schema, lease)
            raise LeaseLost(f"The lease of job {lease.id} is lost.", hint="Roll back.")
        if pause is not None:
            time.sleep(pause)
    raise LeaseBusy(
        f"Another open transaction holds the ledger row of job {lease.id}.",
        hint="Roll back and let the job be retried, or complete it again.",
    )
