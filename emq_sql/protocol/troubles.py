"""Database errors get our names: retryable, ambiguous or refused, with what to do next.

The SQLSTATEs that begin with EQ are our own (see the `raise` statements in `migrations/`). The
class of the others follows PostgreSQL's appendix of error codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors as pg

from emq_sql.errors import (
    Ambiguous,
    BadJobId,
    BadName,
    BadSetting,
    EmqError,
    JobsWouldBeLost,
    LeaseLost,
    Refused,
    Retryable,
    SchemaMissing,
    StepOutOfOrder,
)

OURS: dict[str, type[EmqError]] = {
    "EQ001": LeaseLost,
    "EQ002": BadJobId,
    "EQ003": BadJobId,
    "EQ004": StepOutOfOrder,
    "EQ005": JobsWouldBeLost,
    "EQ006": BadName,
}

# Nothing was done, and the same statement may well succeed later: serialization, deadlock, lock
# and statement timeouts, resources, a shutdown in progress, a server that is (still) a standby.
_RETRYABLE_CLASSES = ("40", "53", "57", "58")
_RETRYABLE_CODES = ("55P03", "25006", "25P03", "25P04")
_MISSING = (pg.InvalidSchemaName, pg.UndefinedTable, pg.UndefinedFunction)


@contextmanager
def named(*, own_transaction: bool = False) -> Iterator[None]:
    """Raise psycopg's errors as ours, with the original as the cause.

    `own_transaction` says that the statement commits by itself: a connection that breaks then
    leaves its outcome unknown (Ambiguous). Inside a caller's transaction it did not commit.
    """
    try:
        yield
    except psycopg.Error as error:
        raise translate(error, own_transaction=own_transaction) from error


def translate(error: psycopg.Error, *, own_transaction: bool = False) -> EmqError:
    """Our error for one of psycopg's."""
    state = error.sqlstate
    text = error.diag.message_primary or str(error).strip() or type(error).__name__
    text = text.removeprefix("emq: ")
    text = text if len(text) <= 300 else f"{text[:300]} …"
    what = f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
    if state in OURS:
        return OURS[state](what, hint=error.diag.message_hint)
    if state is None or state.startswith("08"):
        if not isinstance(error, psycopg.OperationalError):
            return Refused(what, hint="This is a mistake in the call, not in the database.")
        if own_transaction:
            return Ambiguous(
                what, hint="Whether it took place is unknown: ask, or repeat it by id."
            )
        return Retryable(what, hint="The connection was lost and the transaction with it.")
    if state[:2] in _RETRYABLE_CLASSES or state in _RETRYABLE_CODES:
        return Retryable(
            what, hint=f"SQLSTATE {state}: nothing was done, the call may be repeated."
        )
    if isinstance(error, _MISSING):
        return SchemaMissing(
            what, hint="Is the ledger installed here? emq schema current, then emq schema upgrade."
        )
    if isinstance(error, pg.InsufficientPrivilege):
        return Refused(
            what, hint="Grant the role what it needs: emq schema roles makes the four roles."
        )
    if isinstance(error, pg.CheckViolation) or state == "22003":
        constraint = error.diag.constraint_name
        return BadSetting(
            what, hint=f"The rule is the constraint {constraint}." if constraint else None
        )
    return Refused(what, hint=f"SQLSTATE {state}.")
