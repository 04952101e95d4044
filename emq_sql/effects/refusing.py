"""What follows when a commit cannot be: the rollback first, then the error that says why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol

from emq_sql.effects.current import Guarded
from emq_sql.errors import CannotGuard, LeaseLost
from emq_sql.job import Lease
from emq_sql.protocol import autocommit, guarding


class Connected(Protocol):
    """A driver's connection, under a framework's."""

    def ask(self, statement: str, *arguments: str | int) -> Any:
        """The only value that the statement answers."""

    def roll_back(self, error: BaseException) -> bool:
        """Leave nothing of the transaction: it is rolled back, or (False) the connection closed."""

    def as_raised(self, error: Exception) -> Exception:
        """The error as the framework raises it."""


@contextmanager
def refusing(driven: Connected, guarded: Guarded) -> Iterator[None]:
    """What is raised in the block is raised after the rollback: the connection may go straight back
    to its pool, and so to the next user. A transaction that had failed before passes: its COMMIT is
    a rollback.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 - it is raised, as what it means
        if not guarding.had_failed(error):
            _refuse(driven, guarded, error)
    except BaseException as error:
        driven.roll_back(error)
        raise


@contextmanager
def ending(driven: Connected, guarded: Guarded) -> Iterator[None]:
    """Around a COMMIT, and the guard if it is sent with it: what the guard has raised is a refusal,
    what the COMMIT has is the application's own. Nothing is open afterwards.
    """
    try:
        yield
    except Exception as error:
        if autocommit.is_of_guard(error):
            with refusing(driven, guarded):
                raise
        driven.roll_back(error)
        raise driven.as_raised(error) from error
    except BaseException as error:
        driven.roll_back(error)
        raise


def _refuse(driven: Connected, guarded: Guarded, error: Exception) -> NoReturn:
    clean = driven.roll_back(error)
    refusal = guarding.refusal(error, guarded.lease)
    if refusal is None and clean and guarding.serialization_failed(error):
        refusal = _in_a_new_snapshot(driven, guarded.schema, guarded.lease)
    if isinstance(refusal, LeaseLost):
        guarded.refused("guard")
    if refusal is not None:
        raise refusal from error
    if guarding.cannot(error):
        raise CannotGuard(
            f"The guard of the ledger's database could not be asked about job {guarded.lease.id}.",
            hint="Has the role emq_producer or emq_worker, and the ledger its newest schema?",
        ) from error
    raise driven.as_raised(error)


def _in_a_new_snapshot(driven: Connected, schema: str, lease: Lease) -> LeaseLost | None:
    try:
        answer = guarding.outcome(driven.ask, schema, lease)
    except Exception as error:  # noqa: BLE001 - nothing is known then, and nothing was committed
        driven.roll_back(error)
        return None
    except BaseException as error:
        driven.roll_back(error)
        raise
    driven.roll_back(Exception())
    return guarding.taken_away(answer, lease)
