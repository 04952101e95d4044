"""The guard where the application, or emq_sql itself, says where a transaction begins."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy.engine import Connection

from emq_sql.effects.current import here
from emq_sql.effects.drivers import Driven, address_of
from emq_sql.effects.ledgers import Ledgers
from emq_sql.errors import DatabaseTrouble, LeaseLost, UnsupportedHandle
from emq_sql.job import Lease
from emq_sql.protocol import adapt, guarding, troubles
from emq_sql.protocol.guarding import Ask


def guard_in(handle: object, schema: str, lease: Lease) -> None:
    """Hold the ownership of the job to the end of the transaction of `handle`.

    A Session or Connection of SQLAlchemy's, on whatever driver, or a psycopg Connection. Nothing is
    flushed or committed. Raises LeaseLost (JobFinished when it is settled), after which the
    transaction can commit nothing; LeaseBusy when the job is being settled in a transaction that is
    open; UnsupportedHandle, also in autocommit.
    """
    _, ask = _reached(handle)
    try:
        guarding.guard(ask, schema, lease)
    except Exception as error:
        refusal = guarding.refusal(error, lease)
        if refusal is not None:
            raise refusal from error
        if isinstance(error, psycopg.Error):
            raise troubles.translate(error) from error
        raise


def must_lead_home(handle: object, ledgers: Ledgers) -> None:
    """Raise UnsupportedHandle for a handle that leads to another database: one with a ledger of its
    own would answer that the job is lost.
    """
    where, ask = _reached(handle)
    try:
        home = ledgers.leads_home(where, ask)
    except DatabaseTrouble:
        return  # the ledger's own could not be looked at; the guard will say whose the job is
    except psycopg.Error as error:
        raise troubles.translate(error) from error
    if not home:
        raise UnsupportedHandle(
            "This leads to another database than the ledger's: the job is not there.",
            hint="Give a session or connection of the database that holds the ledger. Effects"
            " elsewhere cannot be one transaction with the job.",
        )


@contextmanager
def own_commits(conn: psycopg.Connection[Any], *, own: bool) -> Iterator[bool]:
    """Around statements that commit by themselves if `own`; yields whether they do.

    In a run that is guarded, on the ledger's database, they do not: they are one transaction, which
    is guarded and committed at the end of the block. Raises LeaseLost then, and nothing was done.
    """
    guarded = here.get() if own else None
    if guarded is None:
        yield own
        return
    ask = guarding.asked_in(conn)
    with troubles.named():
        held = guarded.ledgers.held_at(address_of(conn), ask, autocommit=True)
    if not held:
        yield own
        return
    try:
        with adapt.committing(conn), conn.transaction():
            yield False
            try:
                guarding.guard_commit(ask, guarded.schema, guarded.lease)
            except psycopg.Error as error:
                if (refusal := guarding.refusal(error, guarded.lease)) is None:
                    raise
                raise refusal from error
    except LeaseLost:
        guarded.refused("guard")
        raise


def _reached(handle: object) -> tuple[Hashable, Ask]:
    if isinstance(handle, psycopg.Connection):
        _must_have_transaction(handle.autocommit, handle)
        return address_of(handle), guarding.asked_in(handle)
    connection = _connection_of(handle)
    if not connection.in_transaction():
        connection.begin()
    driven = Driven(connection)
    _must_have_transaction(driven.autocommit, driven.driver)
    return driven.address, driven.ask


def _connection_of(handle: object) -> Connection:
    with troubles.found():
        connection = adapt.connection_of(handle)
    if connection is None or connection.dialect.name != "postgresql":
        raise UnsupportedHandle(
            f"A {type(handle).__module__}.{type(handle).__qualname__} has no transaction to guard.",
            hint="Give a Session or Connection of PostgreSQL, or a psycopg Connection; of an"
            " asynchronous one: await session.run_sync(job.guard).",
        )
    return connection


def _must_have_transaction(autocommit: bool, driver: Any) -> None:
    info = getattr(driver, "info", None)
    if autocommit and (info is None or info.transaction_status == TransactionStatus.IDLE):
        raise UnsupportedHandle(
            "This connection is in autocommit: there is no transaction whose end could be guarded.",
            hint="Guard within `with connection.transaction():`, or in a session's transaction.",
        )
