"""Statements of a run that would commit by themselves: each becomes a transaction with a guard.

Each is sent exactly once. What a statement does outside of its transaction, and what it makes of an
error within it, cannot be taken back: so nothing is tried first and repeated in another way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emq_sql.effects.current import Guarded
from emq_sql.effects.django.connection import Driven
from emq_sql.effects.django.texts import joined, only_its_own, takes_two
from emq_sql.effects.refusing import ending, refusing
from emq_sql.errors import CannotGuard, EmqError, LeaseLost
from emq_sql.protocol import autocommit, guarding

Do = Callable[[], Any]
Send = Callable[[Any], Any]  # runs this text, with the parameters that were given

_INSIDE = "Do it inside `with transaction.atomic():`"
_OPT_OUT = "set guard=False for the task, or do it in `with unguarded():`"

# Large objects are written in read-only transactions before this version.
_READ_ONLY_IS_TRUE = 160_000


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


def at_once(cursor: Any, driven: Driven, guarded: Guarded, sql: Any, send: Send) -> Any:
    """The statement and its guard as one text, which is one transaction in one round trip."""
    if not takes_two(cursor, sql):
        return in_transaction(driven, guarded, lambda: send(sql))
    guard = autocommit.guarded_with(guarded.schema, guarded.lease)
    try:
        answer = send(joined(sql, guard))
    except BaseException as error:
        only_its_own(cursor, guard)
        cause = error.__cause__
        if cause is not None and autocommit.is_of_guard(cause):
            with refusing(driven, guarded):
                raise cause from None
        driven.roll_back(error)
        _name(error, guarded)
        raise
    if not only_its_own(cursor, guard):  # a text without a statement, which has its own answer
        return in_transaction(driven, guarded, lambda: send(sql))
    return answer


def in_transaction(driven: Driven, guarded: Guarded, run: Do) -> Any:
    """Begin, the statement, guard, commit: what it answers can be fetched after that."""
    with refusing(driven, guarded):
        autocommit.begin(driven.ask, guarded.lease)
    answer = _begun(driven, guarded, run)
    with ending(driven, guarded):
        guarding.guard_and_commit(driven.ask, guarded.schema, guarded.lease)
    return answer


def declared(cursor: Any, driven: Driven, guarded: Guarded, run: Do) -> Any:
    """A cursor of the server's, which outlives its transaction, and is computed by its commit. So
    the guard comes first; a run that it refuses may read.
    """
    refusal = _hold(driven, guarded)
    if refusal is not None:
        if driven.version < _READ_ONLY_IS_TRUE:
            raise _told(guarded, refusal)
        with refusing(driven, guarded):
            driven.ask(autocommit.BEGIN_READING)
    answer = _begun(driven, guarded, run)
    try:
        with ending(driven, guarded):
            driven.ask(autocommit.COMMIT)
    except Exception as error:
        if driven.idle:  # Django closes its cursor before it raises, and there must be one
            driven.ask(autocommit.EMPTY_CURSOR.format(f'"{cursor.name}"'))
        if refusal is not None and autocommit.wanted_to_write(error.__cause__):
            raise _told(guarded, refusal) from error
        raise
    return answer


def _hold(driven: Driven, guarded: Guarded) -> EmqError | None:
    """Begin, and hold the job; what the guard has said instead, and nothing is begun."""
    try:
        autocommit.begin_held(driven.ask, guarded.schema, guarded.lease)
    except BaseException as error:
        clean = driven.roll_back(error)
        refusal = guarding.refusal(error, guarded.lease)
        if refusal is not None and clean:
            return refusal
        raise (driven.as_raised(error) if isinstance(error, Exception) else error) from error
    return None


def _told(guarded: Guarded, refusal: EmqError) -> EmqError:
    if isinstance(refusal, LeaseLost):
        guarded.refused("guard")
    return refusal


def _begun(driven: Driven, guarded: Guarded, run: Do) -> Any:
    try:
        return run()
    except BaseException as error:
        driven.roll_back(error)
        _name(error, guarded)
        raise


def _name(error: BaseException, guarded: Guarded) -> None:
    """Raise what it means, if the statement needs what it cannot have here."""
    cause = error.__cause__
    if autocommit.wants_no_transaction(cause):
        what = "A statement that cannot run in a transaction"
    elif autocommit.would_commit(cause):
        what = "A procedure or block that commits by itself"
    else:
        return
    raise CannotGuard(
        f"{what} cannot be guarded, in job {guarded.lease.id}.",
        hint=f"Do it outside of jobs, {_OPT_OUT}.",
    ) from error
