"""The settings of a queue and of the ledger: which there are, and how each is given and written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal, TypedDict

from emq_sql.errors import BadSetting
from emq_sql.rules import durations, names
from emq_sql.rules.lease import lease_length

Kind = Literal["lease", "duration", "zero or longer", "number", "queue", "task", "yes or no"]
Kinds = Mapping[str, Kind]

QUEUE: Kinds = {
    "lease": "lease",
    "max_attempts": "number",
    "max_stalled": "number",
    "max_active": "number",
    "retention": "duration",
    "cancelled_retention": "duration",
    "dead_retention": "duration",
    "replay_within": "zero or longer",
    "unknown_after": "duration",
    "quarantine": "queue",
    "quarantine_after": "number",
    "on_dead": "task",
    "on_dead_queue": "queue",
}
LEDGER: Kinds = {
    "retention": "duration",
    "audit_retention": "duration",
    "inbox_retention": "duration",
    "export_first": "yes or no",
}
RESET = "none"
NEVER = "never"

_MOST = {"max_active": 2_147_483_647}
_USUAL_MOST = 32_767
_WORDS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}

Duration = float | timedelta


class QueueSettings(TypedDict, total=False):
    """What `EMQ.configure` takes; None, like a name left out, leaves a setting as it is."""

    lease: Duration | None
    max_attempts: int | None
    max_stalled: int | None
    max_active: int | None
    retention: Duration | None
    cancelled_retention: Duration | None
    dead_retention: Duration | None
    replay_within: Duration | None
    unknown_after: Duration | None
    quarantine: str | None
    quarantine_after: int | None
    on_dead: str | None
    on_dead_queue: str | None


def checked(
    given: Mapping[str, object], reset: Iterable[str] = (), kinds: Kinds = QUEUE
) -> dict[str, Any]:
    """What to write: a value of JSON for each name given that is not None, null for those reset.

    Raises BadSetting for a name that is none, or BadInput for a value that is none.
    """
    written: dict[str, Any] = {}
    for name, value in given.items():
        kind = _kind(name, kinds)
        if value is not None:
            written[name] = _value(name, kind, value)
    for name in reset:
        _kind(name, kinds)
        written[name] = None
    return written


def parsed(words: Iterable[str], kinds: Kinds = QUEUE) -> dict[str, Any]:
    """The same of `name=value` words: durations like 30s, 2h or 7d; `none` resets a setting."""
    given: dict[str, object] = {}
    reset = []
    for word in words:
        name, equals, text = word.partition("=")
        kind = _kind(name, kinds)
        if not equals:
            hint = f"Write {name}=value, or {name}={RESET} to reset it."
            raise BadSetting(f"No value is given for {name}.", hint=hint)
        if name in given or name in reset:
            raise BadSetting(f"{name} is given twice.", hint="Give it once.")
        if text == RESET:
            reset.append(name)
        else:
            given[name] = _read(name, kind, text)
    return checked(given, reset, kinds)


def _kind(name: str, kinds: Kinds) -> Kind:
    if name not in kinds:
        raise BadSetting(
            f"There is no setting {names.shown(name)}.", hint=f"There are: {', '.join(kinds)}."
        )
    return kinds[name]


def _read(name: str, kind: Kind, text: str) -> object:
    if kind == "zero or longer" and text == NEVER:
        return timedelta(0)
    if kind in ("lease", "duration", "zero or longer"):
        return durations.written(text, name, allow_zero=kind == "zero or longer")
    if kind == "number":
        if not text.isascii() or not text.isdigit() or len(text) > 10:
            raise BadSetting(
                f"{name} is {names.shown(text)}, which is no number.", hint=_most(name)
            )
        return int(text)
    if kind == "yes or no":
        if text.lower() not in _WORDS:
            raise BadSetting(f"{name} is {names.shown(text)}.", hint="Say yes or no.")
        return _WORDS[text.lower()]
    return text


def _value(name: str, kind: Kind, value: Any) -> Any:
    if kind == "lease":
        return _interval(lease_length(value, name))
    if kind in ("duration", "zero or longer"):
        return _interval(durations.duration(value, name, allow_zero=kind == "zero or longer"))
    if kind == "queue":
        return names.queue_name(value)
    if kind == "task":
        return names.task_name(value)
    if kind == "yes or no":
        if not isinstance(value, bool):
            raise BadSetting(f"{name} is {names.shown(value)}.", hint="Give True or False.")
        return value
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _limit(name):
        raise BadSetting(f"{name} {names.shown(value)} is none.", hint=_most(name))
    return value


def _interval(length: timedelta) -> str:
    return f"{length.days} days {length.seconds}.{length.microseconds:06d} seconds"


def _limit(name: str) -> int:
    return _MOST.get(name, _USUAL_MOST)


def _most(name: str) -> str:
    return f"Give a number from 1 to {_limit(name)}."
