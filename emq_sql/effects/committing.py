"""The commit of a transaction that has ended its job's run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import exc

from emq_sql.effects.current import here
from emq_sql.errors import Ambiguous, CannotGuard, EmqError, Retryable
from emq_sql.protocol.troubles import translate

_ASK = "Whether it took place is unknown: job.outcome() says so. The worker asks by itself."
_LOST = ("08", "57P01", "57P02")


@contextmanager
def committing(driver: Any) -> Iterator[None]:
    """Around the commit alone. Raises Ambiguous when its answer was lost with the connection, and
    Retryable when the server ended the session before it; all else as it comes.
    """
    guarded = here.get()
    if guarded is not None:
        guarded.settling.add(driver)
    try:
        yield
    except Exception as error:
        trouble = _lost(error)
        if trouble is None:
            raise
        raise trouble from error
    finally:
        if guarded is not None:
            guarded.settling.discard(driver)


def ends_with_its_block() -> CannotGuard:
    """Who commits it early would commit effects without the end of the run."""
    return CannotGuard(
        "The transaction of job.transaction() is committed at the end of its block.",
        hint="Leave out the commit; for work that stands by itself use a session of its own.",
    )


def is_one_transaction(what: str) -> CannotGuard:
    """Whoever ends it early, or takes another one, would end the run without those effects."""
    return CannotGuard(
        f"A block of job.transaction() is one transaction, and {what}.",
        hint="Let the block raise, to roll back. To undo a part of it use a savepoint:"
        " begin_nested(), or psycopg's transaction().",
    )


def _lost(error: Exception) -> EmqError | None:
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    if isinstance(cause, psycopg.Error):
        ours = translate(cause, own_transaction=True)
        if isinstance(ours, Ambiguous):
            return Ambiguous(ours.what, hint=_ASK)
        ended = isinstance(ours, Retryable) and (cause.sqlstate or "").startswith("25P")
        return ours if ended else None
    state = getattr(cause, "sqlstate", None) or ""
    if state.startswith(_LOST) or getattr(error, "connection_invalidated", False):
        return Ambiguous("The connection was lost at the commit.", hint=_ASK)
    return None
