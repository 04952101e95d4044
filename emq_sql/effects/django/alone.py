"""Statements of a run that would commit by themselves: each becomes a transaction with a guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from emq_sql.effects.current import Guarded
from emq_sql.effects.django.connection import Driven
from emq_sql.effects.refusing import refusing
from emq_sql.errors import CannotGuard
from emq_sql.protocol import autocommit

Do = Callable[[], Any]

_INSIDE = "Do it inside `with transaction.atomic():`"
_OPT_OUT = "set guard=False for the task, or do it in `with unguarded():`"


def is_alone(driven: Driven, guarded: Guarded) -> bool:
    """Whether a statement would commit by itself now, in the ledger's database."""
    return driven.autocommit and driven.idle and _held(driven, guarded)


def _held(driven: Driven, guarded: Guarded) -> bool:
    with refusing(driven, guarded):
        return guarded.ledgers.held_at(driven.address, driven.ask, autocommit=True)


def refuse_if_held(driven: Driven, guarded: Guarded, what: str) -> None:
    if _held(driven, guarded):
        raise CannotGuard(
            f"{what} cannot be guarded, in job {guarded.lease.id}.", hint=f"{_INSIDE}, {_OPT_OUT}."
        )


def in_transaction(driven: Driven, guarded: Guarded, run: Do) -> Any:
    """Begin, the statement, guard, commit: what it answers can be fetched after that."""
    answer = _begun(driven, guarded, autocommit.BEGIN, run)
    with refusing(driven, guarded):
        autocommit.guard_and_commit(driven.ask, guarded.schema, guarded.lease)
    return answer


def read(cursor: Any, run: Do) -> tuple[bool, Any]:
    """Whether it could be run without writing, and what it answers."""
    try:
        answer = run()
    except Exception as error:
        if autocommit.wanted_to_write(error.__cause__):
            return False, None
        raise
    if isinstance(cursor, psycopg.Cursor):  # psycopg2 is at the last answer by itself
        cursor.nextset()
    return True, answer


def read_with(cursor: Any, driven: Driven, guarded: Guarded, run: Do) -> Any:
    """A cursor of the server's, which outlives its transaction, and is computed at its commit."""
    answer = _begun(driven, guarded, autocommit.BEGIN_READING, run)
    try:
        with refusing(driven, guarded):
            driven.ask(autocommit.COMMIT)
    except Exception as error:
        if not autocommit.wanted_to_write(error.__cause__):
            raise
        # Django closes its cursor before it raises, and there must be one.
        driven.ask(autocommit.EMPTY_CURSOR.format(f'"{cursor.name}"'))
        raise CannotGuard(
            f"A server-side cursor that writes cannot be guarded in autocommit, in job"
            f" {guarded.lease.id}.",
            hint=f"{_INSIDE}.",
        ) from error
    return answer


def sends_one_text(cursor: Any) -> bool:
    """Whether all goes to the server as one text, which may hold two statements."""
    return isinstance(cursor, psycopg.ClientCursor) or not isinstance(cursor, psycopg.Cursor)


def _begun(driven: Driven, guarded: Guarded, begin: str, run: Do) -> Any:
    with refusing(driven, guarded):
        driven.ask(begin)
    try:
        return run()
    except BaseException as error:
        driven.roll_back(error)
        if autocommit.wants_no_transaction(error.__cause__):
            raise CannotGuard(
                f"A statement that cannot run in a transaction cannot be guarded, in job"
                f" {guarded.lease.id}.",
                hint=f"Do it outside of jobs, {_OPT_OUT}.",
            ) from error
        raise
