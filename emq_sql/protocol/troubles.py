"""Database errors get our names: retryable, ambiguous or refused, with what to do next.

The SQLSTATEs that begin with EQ are our own (see the `raise` statements in `migrations/`). The
class of the others follows PostgreSQL's appendix of error codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors as pg
from sqlalchemy import exc

from emq_sql.errors import (
    Ambiguous,
    BadJobId,
    BadName,
    BadPayload,
    BadSetting,
    EmqError,
    JobFinished,
    JobsWouldBeLost,
    LeaseLost,
    PayloadTooLarge,
    Refused,
    Retryable,
    SchemaMissing,
    StepOutOfOrder,
    UnsupportedHandle,
)
from emq_sql.protocol.bounded import NoAnswer

OURS: dict[str, type[EmqError]] = {
    "EQ001": LeaseLost,
    "EQ002": BadJobId,
    "EQ003": BadJobId,
    "EQ004": StepOutOfOrder,
    "EQ005": JobsWouldBeLost,
    "EQ006": BadName,
    "EQ007": JobFinished,
}

# Nothing was done, and the same statement may well succeed later: serialization, deadlock, lock
# and statement timeouts, resources, a shutdown in progress, a server that is (still) a standby.
_RETRYABLE_CLASSES = ("40", "53", "57", "58")
_RETRYABLE_CODES = ("55P03", "25P03", "25P04")
_READ_ONLY = "25006"
_REPLANS = "RevalidateCachedQuery"  # of PostgreSQL's own source: its messages may be translated
# The server went while it may have been answering: a statement that commits by itself may have done
# so. (statement_completion_unknown says it of any statement.)
_GONE = ("57P01", "57P02")
_UNKNOWN = "40003"
_FAILED_TRANSACTION = "25P02"
_ENCODING_CODES = ("22P05", "22021")
_DATA_CLASSES = ("22", "54")  # data exceptions; over a limit of the server
_CHECK = "23514"
_ASK = "Whether it took place is unknown: ask, or repeat it (an enqueue by its id)."
_WRITABLE = (
    "A standby, or read-only by a setting of the transaction, role or database: nothing was done,"
    " and the call may be repeated where it may write."
)
_LONGEST = 300
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
    except UnicodeEncodeError as error:
        raise BadPayload(
            f"The connection's client_encoding, {error.encoding}, lacks a given character.",
            hint="Use a connection with client_encoding UTF8.",
        ) from error


@contextmanager
def found() -> Iterator[None]:
    """Raise what SQLAlchemy says of a connection that is not to be had as one of our errors."""
    try:
        yield
    except exc.DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise _not_connected(error.orig) from error
        raise
    except psycopg.Error as error:
        raise _not_connected(error) from error
    except exc.TimeoutError as error:
        raise Retryable(
            "No connection of the engine's pool became free in time.",
            hint="Close sessions that are done with, or give the engine a larger pool.",
        ) from error
    except exc.PendingRollbackError as error:
        raise Refused(
            "The transaction of this session or connection has failed before.",
            hint="Roll it back, then call again.",
        ) from error
    except exc.InvalidRequestError as error:  # unbound, closed for good, prepared already ...
        raise UnsupportedHandle(
            _sentence(str(error.args[0])), hint="Give one that is open, and bound to an engine."
        ) from error


def of_its_connection(error: BaseException | None) -> bool:
    """Whether another connection may well do what this one cannot, which is given up then.

    Its server, a standby or set to be read-only, takes no writes, and another one may be the
    primary by now. Or a statement that was prepared on it is good for nothing any more.
    """
    if isinstance(error, EmqError):
        error = error.__cause__
    return isinstance(error, psycopg.Error) and (
        error.sqlstate == _READ_ONLY or _prepared_is_gone(error)
    )


def _prepared_is_gone(error: psycopg.Error) -> bool:
    """The application has deallocated it behind the driver's back, or a schema step gave it other
    columns. Nothing was done.
    """
    return isinstance(error, pg.InvalidSqlStatementName) or (
        isinstance(error, pg.FeatureNotSupported) and error.diag.source_function == _REPLANS
    )


def about_data(error: BaseException) -> bool:
    """Whether a value that was given cannot be stored, however often it is sent.

    Not a missing right, nor anything else that may be over in a minute.
    """
    if isinstance(error, (BadPayload, PayloadTooLarge)):
        return True
    cause = error.__cause__
    if not isinstance(cause, psycopg.Error):
        return False
    state = cause.sqlstate
    if state is None:
        return isinstance(cause, psycopg.DataError)  # the driver itself could not send it
    return state[:2] in _DATA_CLASSES or state == _CHECK


def foreign(error: Exception) -> EmqError | None:
    """Our error for one of another driver's, by its SQLSTATE; None for what is not ours to name."""
    cause = error.__cause__ or error
    state = getattr(cause, "sqlstate", None)
    if not isinstance(state, str):
        return None
    what = _sentence(getattr(cause, "message", None) or str(cause))
    if state in OURS:
        return OURS[state](what, hint=getattr(cause, "hint", None))
    if state[:2] in _RETRYABLE_CLASSES or state in _RETRYABLE_CODES:
        return Retryable(what, hint=_again(state))
    return None


def _not_connected(error: psycopg.Error) -> EmqError:
    if error.sqlstate is None and isinstance(error, psycopg.OperationalError):
        return Retryable(
            _sentence(str(error)),
            hint="No connection was made: are address, user and password right, and is it up?",
        )
    return translate(error)


def _again(state: str) -> str:
    return f"SQLSTATE {state}: nothing was done, the call may be repeated."


def _sentence(text: str) -> str:
    text = " ".join(text.removeprefix("emq: ").split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"


def _lost(error: psycopg.Error, what: str, own_transaction: bool) -> EmqError:
    if not isinstance(error, psycopg.OperationalError):
        return Refused(what, hint="This is a mistake in the call, not in the database.")
    if isinstance(error, NoAnswer) and (error.undone or not own_transaction):
        return Retryable(what)
    if own_transaction:
        return Ambiguous(what, hint=_ASK)
    return Retryable(what, hint="The connection was lost and the transaction with it.")


def translate(error: psycopg.Error, *, own_transaction: bool = False) -> EmqError:
    """Our error for one of psycopg's."""
    state = error.sqlstate
    what = _sentence(error.diag.message_primary or str(error).strip() or type(error).__name__)
    if state in OURS:
        return OURS[state](what, hint=error.diag.message_hint)
    if state is None or state.startswith("08"):
        return _lost(error, what, own_transaction)
    if state == _UNKNOWN or (own_transaction and state in _GONE):
        return Ambiguous(what, hint=_ASK)
    if state == _READ_ONLY:
        return Retryable(what, hint=_WRITABLE)
    if state[:2] in _RETRYABLE_CLASSES or state in _RETRYABLE_CODES or _prepared_is_gone(error):
        return Retryable(what, hint=_again(state))
    if state == _FAILED_TRANSACTION:
        return Refused(what, hint="A statement failed before: roll back, then call again.")
    if state in _ENCODING_CODES:
        return BadPayload(what, hint="The database's encoding lacks it: use a UTF8 database.")
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
