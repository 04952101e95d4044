"""Whose transaction it is: that of the run which used it first, to its end, and no other run's.

Handlers share what they keep open: a session of their thread, a connection of their module. What
one of them leaves there is rolled back when its run ends. What is still there is refused when
another run goes on with it, so that nobody commits for a run that is over.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from psycopg.pq import TransactionStatus
from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.pool import ConnectionPoolEntry, Pool, PoolResetState

from emq_sql.effects.current import Guarded, here, whose
from emq_sql.effects.drivers import Driven, address_in, has_nothing_to_commit
from emq_sql.errors import CannotGuard
from emq_sql.protocol import guarding

if TYPE_CHECKING:
    from sqlalchemy.orm import Session, SessionTransaction

log = logging.getLogger("emq_sql.effects")

_listened_to: set[type] = set()
_OWNER = "emq_sql.owner"  # of a driver's connection, or of a session: whose transaction is open


def install() -> None:
    """From here on, in this process; sessions as soon as the application has loaded them.

    It may be called again, before each run: that costs next to nothing.
    """
    if len(_listened_to) == len(_ALL):
        return
    orm = sys.modules.get("sqlalchemy.orm")
    made = getattr(orm, "Session", None)  # an import that is under way has none yet
    for kind, listeners in zip((Pool, made), _ALL, strict=True):
        if kind is None or kind in _listened_to:
            continue
        for name, listener in listeners.items():
            if not event.contains(kind, name, listener):
                event.listen(kind, name, listener)
        _listened_to.add(kind)


def begins(connection: Connection) -> None:
    """SQLAlchemy begins a transaction here. The driver may have one open before that, which then
    keeps its owner: of a pool that does not reset, or of another Connection in a StaticPool.
    """
    guarded = here.get()
    info = connection.info
    if guarded is not None:
        guarded.begins(connection)
    if _OWNER in info:
        if not has_nothing_to_commit(connection.connection.driver_connection):
            return
        del info[_OWNER]
    if guarded is not None:
        info[_OWNER] = guarded


def asked_for(connection: Connection) -> Guarded | None:
    """The run whose guard this commit must pass: the one in whose context it is, else the one whose
    transaction it is (in a thread made by hand); None for a transaction of nobody's, and in
    `unguarded` of its own.
    """
    guarded = here.get()
    if guarded is None:
        owner: Guarded | None = connection.info.get(_OWNER)
        return None if owner is None or owner is whose.get() else owner
    return guarded


def owns(driven: Driven, guarded: Guarded) -> bool:
    """Whether the transaction is known for this run's."""
    return driven.info.get(_OWNER) is guarded


def must_own(driven: Driven, guarded: Guarded) -> None:
    """Raise CannotGuard when another run has written in this transaction. One that has written
    nothing is taken over. Call it where the rollback follows from what is raised.
    """
    info = driven.info
    owner: Guarded | None = info.get(_OWNER)
    if owner is guarded:
        return
    stands = owner is not None and _stands(driven, owner)
    info[_OWNER] = guarded  # also of what follows the rollback
    if owner is not None and stands:
        raise CannotGuard(
            f"Job {guarded.lease.id} was to go on in a transaction in which another run, of job"
            f" {owner.lease.id}, has written.",
            hint="End transactions in the handler that begins them: `with Session(engine) as"
            " session:`, or remove() at its end for a scoped_session. What was written is rolled"
            " back.",
        )


def sweep(guarded: Guarded) -> None:
    """The run is over: roll back what it has begun and not ended. Nothing is raised.

    Let be is a connection that runs a statement, in a thread which the handler has left behind; and
    what an asynchronous driver has open, since nobody is here to wait for it. `must_own` meets them
    later.
    """
    begun = guarded.begun()
    for thing, connection in begun:
        if not isinstance(thing, Connection):
            with suppress(Exception):
                _take_back_session(thing, connection, guarded)
    for thing, _ in begun:
        if isinstance(thing, Connection):
            with suppress(Exception):
                _take_back(thing, guarded)


def _take_back_session(session: Session, connection: Connection | None, guarded: Guarded) -> None:
    if session.info.get(_OWNER) is not guarded or not session.in_transaction():
        return
    if connection is None or connection.closed or connection.invalidated:
        session.rollback()
    elif connection.dialect.is_async:
        if not (session.new or session.dirty or session.deleted):
            return
        session.invalidate()  # else the next flush, whosever it is, would write them
    elif _is_busy(connection):
        return
    else:
        session.rollback()
    log.info("the run of job %s has left a session open: rolled back", guarded.lease.id)


def _take_back(connection: Connection, guarded: Guarded) -> None:
    if connection.closed or connection.invalidated or connection.dialect.is_async:
        return
    transaction = connection.get_transaction()
    if transaction is None or _is_busy(connection) or connection.info.get(_OWNER) is not guarded:
        return
    transaction.rollback()
    log.info("the run of job %s has left a transaction open: rolled back", guarded.lease.id)


def _is_busy(connection: Connection) -> bool:
    info = getattr(connection.connection.driver_connection, "info", None)
    return info is not None and info.transaction_status == TransactionStatus.ACTIVE


def _stands(driven: Driven, owner: Guarded) -> bool:
    """Whether there is something of its owner's that a commit would let stand in the ledger's
    database.
    """
    return (
        not driven.has_nothing_to_commit
        and guarding.wrote(driven.ask)
        and owner.ledgers.leads_home(driven.address, driven.ask)
    )


def _session_begins(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is not None:
        return
    guarded = here.get()
    if guarded is not None:
        session.info[_OWNER] = guarded
        guarded.begins(session)
    else:
        session.info.pop(_OWNER, None)


def _session_connects(session: Session, _: SessionTransaction, connection: Connection) -> None:
    guarded = here.get()
    if guarded is not None:
        guarded.begins(session, connection)


def _resets(connection: Any, record: ConnectionPoolEntry, state: PoolResetState) -> None:
    """It returns to its pool: what the run has not ended is rolled back, whatever the pool would
    do.
    """
    owner: Guarded | None = record.info.pop(_OWNER, None)
    if owner is None or connection is None or state.terminate_only or not state.asyncio_safe:
        return
    driver = record.driver_connection
    if has_nothing_to_commit(driver):
        return

    def ask(statement: str, *_: str | int) -> Any:
        with closing(connection.cursor()) as cursor:
            cursor.execute(statement)
            row = cursor.fetchone()
        return row if isinstance(row, str) else row[0]

    ours = True
    with suppress(Exception):  # what cannot be seen is not committed
        ours = owner.ledgers.leads_home(address_in(record.info, driver), ask)
    if ours:
        connection.rollback()


_OF_POOLS: dict[str, Callable[..., None]] = {"reset": _resets}
_OF_SESSIONS: dict[str, Callable[..., None]] = {
    "after_transaction_create": _session_begins,
    "after_begin": _session_connects,
}
_ALL = (_OF_POOLS, _OF_SESSIONS)
