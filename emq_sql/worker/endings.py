"""How a run ended, and what is to be settled about it."""

from __future__ import annotations

from dataclasses import dataclass

from emq_sql.job import Decided, SettleAnswer, Verb
from emq_sql.rules.verdict import Completed, Failed, first_line
from emq_sql.worker.entry import Entry
from emq_sql.worker.snoozing import Snoozed

__all__ = [
    "CompletedByHandler", "Ending", "RefusedInHandler", "Released", "Settlement", "Snoozed",
    "Stalled", "in_short", "is_own_end",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Released:
    """The worker stops: the job goes back to the head of its level, at no cost."""


@dataclass(frozen=True, slots=True)
class Stalled:
    """The run was lost with its process: at once what the reaper would do when the lease ends."""

    error: str


@dataclass(frozen=True, slots=True)
class CompletedByHandler:
    """The handler completed it, or put it back (`verb`), in its own transaction.

    `committed` is where that has brought the job; None when it is not known whether it committed:
    then `failed` counts if it has not. `raised` says that the handler raised after it.
    """

    failed: Failed
    raised: bool
    verb: Verb = "complete"
    committed: SettleAnswer | None = None


@dataclass(frozen=True, slots=True)
class RefusedInHandler:
    """The handler's own completion was refused as stale, and that record rolled back with it."""

    failed: Failed


Ending = Completed | Failed | Snoozed | Released | Stalled | CompletedByHandler | RefusedInHandler


def in_short(ending: Ending) -> str:
    """What one line of the log says of a run that failed or stalled."""
    if isinstance(ending, Failed) and ending.headline:
        return ending.headline
    return first_line(ending.error) if isinstance(ending, (Failed, Stalled)) else ""


def is_own_end(outcome: Decided, verb: Verb) -> bool:
    """Whether a claim has ended by its own holder's doing, who did `verb`: nothing was lost then.

    A dead letter may be the end of many things. That of a job whose handler wanted another try is
    taken for that of its budget.
    """
    return outcome in {"completed", "handed back"} or (outcome == "dead" and verb == "retry")


@dataclass(slots=True, eq=False)
class Settlement:
    """One ending on its way to the database; it stays until the database has answered."""

    entry: Entry
    ending: Ending
    unsure: bool = False  # it was sent, and the answer was lost
    not_before: float = 0.0
    asked: int = 0
    refusals: int = 0
