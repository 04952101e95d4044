"""Every commit of SQLAlchemy's in a run's context is guarded, and what cannot be is refused.

The listeners are those of the class Engine: engines of all kinds, made before or after, with their
sessions, connections and copies with other options, and asynchronous ones through their
`sync_engine`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine

from emq_sql.effects import owning
from emq_sql.effects.current import Guarded, here
from emq_sql.effects.drivers import Driven
from emq_sql.effects.refusing import ending, refusing
from emq_sql.errors import CannotGuard
from emq_sql.protocol import guarding

# psycopg 3 looks at the server's answer instead.
_BEGIN_BY_THEIR_OWN_BOOKS = ("psycopg2", "asyncpg")
_OPT_OUT = "or set guard=False for the task, or write in `with unguarded():`."


def install() -> None:
    """From here on, in this process, runs that are guarded are; it may be called again."""
    for name, listener in _LISTENERS.items():
        if not event.contains(Engine, name, listener):
            event.listen(Engine, name, listener)


def _on_begin(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        owning.begins(connection)


def _on_commit(connection: Connection) -> None:
    if connection.dialect.name != "postgresql":
        return
    guarded = owning.asked_for(connection)
    if guarded is None:
        return
    driven = Driven(connection)
    if guarded.is_settling(driven.driver):
        guarded.settling.discard(driven.driver)
        return
    at_once = driven.takes_two and _is_last(connection)
    transaction = connection.get_transaction()
    if transaction is not None and not at_once:  # else no listener comes any more
        guarded.asked.add(transaction)
    if driven.has_nothing_to_commit:
        return
    # Nearly always nothing has to be asked to know that it is this run's, in the ledger's database.
    known = owning.owns(driven, guarded) and guarded.ledgers.is_known(driven.address)
    if not (known and at_once):
        held = False
        with refusing(driven, guarded):
            owning.must_own(driven, guarded)
            held = guarded.ledgers.held_at(driven.address, driven.ask)
            if held and not at_once:
                guarding.guard_commit(driven.ask, guarded.schema, guarded.lease)
        if not (held and at_once):
            return
    with ending(driven, guarded):  # of the COMMIT that follows psycopg makes nothing
        guarding.guard_and_commit(driven.end_with, guarded.schema, guarded.lease)


def _is_last(connection: Connection) -> bool:
    """Whether no listener of the application's comes after this one, which could still write."""
    *_, last = connection.dispatch.commit
    return last is _on_commit


def _on_statement(connection: Connection, *_: Any) -> None:
    guarded = _guarded(connection)
    if guarded is None:
        return
    driven = Driven(connection)
    if not owning.owns(driven, guarded):
        with refusing(driven, guarded):
            owning.must_own(driven, guarded)
    if driven.autocommit:
        with refusing(driven, guarded):
            if guarded.ledgers.held_at(driven.address, driven.ask, autocommit=True):
                raise CannotGuard(
                    f"A connection in autocommit would write into the ledger's database for job"
                    f" {guarded.lease.id}, and nothing could be asked before its commits.",
                    hint=f"Use a transaction, {_OPT_OUT}",
                )


def _after_statement(connection: Connection, *_: Any) -> None:
    """What another listener has sent after the guard was asked: it is asked again."""
    guarded = _guarded(connection)
    if guarded is None:
        return
    if connection.dialect.driver in _BEGIN_BY_THEIR_OWN_BOOKS:
        _begin_anew(connection)
    if not guarded.has_asked(connection.get_transaction()):
        return
    driven = Driven(connection)
    with refusing(driven, guarded):
        if guarded.ledgers.held_at(driven.address, driven.ask):
            guarding.guard_commit(driven.ask, guarded.schema, guarded.lease)


def _begin_anew(connection: Connection) -> None:
    """A ROLLBACK or COMMIT that was sent as SQL has ended the transaction, and the driver does not
    know it: without a BEGIN what follows would be committed statement by statement.
    """
    driven = Driven(connection)
    if driven.has_nothing_to_commit:
        connection.dialect.do_rollback(connection.connection)


def _on_two_phase(connection: Connection, *_: Any) -> None:
    guarded = _guarded(connection)
    if guarded is None:
        return
    driven = Driven(connection)
    with refusing(driven, guarded):
        if guarded.ledgers.held_at(driven.address, driven.ask, autocommit=True):
            raise CannotGuard(
                f"A two-phase transaction in the ledger's database for job {guarded.lease.id} could"
                " be committed when the job is somebody else's.",
                hint=f"Use a plain transaction, {_OPT_OUT}",
            )


_LISTENERS: dict[str, Callable[..., None]] = {
    "begin": _on_begin,
    "commit": _on_commit,
    "before_cursor_execute": _on_statement,
    "after_cursor_execute": _after_statement,
    "prepare_twophase": _on_two_phase,
    "commit_twophase": _on_two_phase,
}


def _guarded(connection: Connection) -> Guarded | None:
    guarded = here.get()
    return guarded if guarded is not None and connection.dialect.name == "postgresql" else None
