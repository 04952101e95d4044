"""Which dead letters are meant: what may be said of them, and how it is written for the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict, get_args
from uuid import UUID

from emq_sql.errors import BadSetting
from emq_sql.rules import durations, ids, names

Reason = Literal["exception", "stalled", "timeout", "permanent", "no handler", "expired"]
REASONS: tuple[Reason, ...] = get_args(Reason)

Texts = str | Sequence[str]


class DeadFilter(TypedDict, total=False):
    """What is said of dead letters; all of it must hold, and of a sequence one member.

    `error` is a part of the error's text. `died_after` (then or later) and `died_before` are
    datetimes with a time zone; `older_than` and `younger_than` are seconds or timedelta on the
    server's clock. `include_permanent` chooses none: with it a replay leaves out no failure that
    was for good.
    """

    ids: Sequence[UUID | str]
    queue: Texts
    task: Texts
    reason: Reason | Sequence[Reason]
    fingerprint: Texts
    worker: Texts
    error: str
    died_after: datetime
    died_before: datetime
    older_than: float | timedelta
    younger_than: float | timedelta
    min_attempts: int
    min_stalled: int
    min_failures: int
    include_permanent: bool


def written(chosen: Mapping[str, object]) -> dict[str, Any]:
    """The filter as the ledger reads it.

    Raises BadInput for a name that is none and for a value that is none for its name, None among
    them: a variable that happens to be empty must not mean all.
    """
    done = {}
    for name, value in chosen.items():
        if name not in _WRITE:
            known = ", ".join(_WRITE)
            raise BadSetting(f"Dead letters have no {names.shown(name)}.", hint=f"Say: {known}.")
        done[name] = _WRITE[name](value, name)
    return done


def says_nothing(chosen: Mapping[str, object]) -> bool:
    """Whether it would choose every dead letter there is."""
    return not set(chosen) - {"include_permanent"}


def _texts(check: Callable[[object], str]) -> Callable[[object, str], list[str]]:
    def write(value: object, name: str) -> list[str]:
        if isinstance(value, (str, UUID)):
            return [check(value)]
        if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
            return [check(one) for one in value]
        raise _bad(name, value, "a text, or a list of them")

    return write


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise _bad("what is looked for", value, "a text that is not empty")
    return value


def _reason(value: object) -> str:
    if value not in REASONS:
        raise _bad("reason", value, ", ".join(REASONS[:-1]) + " or " + REASONS[-1])
    return str(value)


def _instant(value: object, name: str) -> str:
    return durations.aware(value, name).isoformat()


def _length(value: object, name: str) -> float:
    return durations.duration(value, name, allow_zero=True).total_seconds()


def _number(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise _bad(name, value, "a whole number")
    return value


def _yes(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise _bad(name, value, "True or False")
    return value


def _bad(name: str, value: object, needs: str) -> BadSetting:
    return BadSetting(
        f"Dead letters: {name} cannot be {names.shown(value)}.", hint=f"Give {needs}."
    )


_WRITE: dict[str, Callable[[object, str], Any]] = {
    "ids": _texts(lambda value: str(ids.check(value))),
    "queue": _texts(names.queue_name),
    "task": _texts(names.task_name),
    "reason": _texts(_reason),
    "fingerprint": _texts(_text),
    "worker": _texts(_text),
    "error": lambda value, _: _text(value),
    "died_after": _instant,
    "died_before": _instant,
    "older_than": _length,
    "younger_than": _length,
    "min_attempts": _number,
    "min_stalled": _number,
    "min_failures": _number,
    "include_permanent": _yes,
}
