"""Durations and instants as people give them: seconds or timedelta, and aware datetimes."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

from emq_sql.errors import BadTime
from emq_sql.rules.names import shown

LONGEST = timedelta(days=3653)  # ten years: longer is a unit mistaken for another

_SECONDS_HINT = "Give seconds as a number, or a datetime.timedelta."
_WRITTEN_HINT = "Write a number and a unit, for example 90s, 15m, 2h or 7d."

_INSTANT_HINT = "Write for example 2026-01-31T10:00:00+01:00."

_UNITS = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_WRITTEN = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)(w|d|h|m|s|ms)?")


def duration(value: object, setting: str, *, allow_zero: bool = False) -> timedelta:
    """A positive duration of at most ten years, from seconds (int, float) or a timedelta.

    `setting` names the value in the error. Zero, and what rounds to less than a microsecond, is
    refused unless `allow_zero`. Raises BadTime.
    """
    if isinstance(value, timedelta):
        length = value
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        what = f"{setting} must be a duration, not {type(value).__name__}."
        raise BadTime(what, hint=_SECONDS_HINT)
    elif isinstance(value, float) and not math.isfinite(value):
        raise BadTime(f"{setting} is {value}, which is no duration.", hint=_SECONDS_HINT)
    elif abs(value) > LONGEST.total_seconds():
        length = LONGEST + timedelta(seconds=1) if value > 0 else timedelta(seconds=-1)
    else:
        length = timedelta(seconds=value)
    given = f"{length}" if isinstance(value, timedelta) else f"{shown(value)} seconds"
    if length < timedelta(0):
        raise BadTime(f"{setting} is negative ({given}).", hint="Give a duration from now on.")
    if length > LONGEST:
        hint = "Durations are in seconds: are these milliseconds?"
        raise BadTime(f"{setting} is over ten years ({given}).", hint=hint)
    if not length and not allow_zero:
        raise BadTime(f"{setting} is zero ({given}).", hint="Give a duration above zero.")
    return length


def aware(value: object, setting: str) -> datetime:
    """The same instant in UTC, from a datetime that knows its time zone.

    A naive datetime is refused: it would mean another instant on another machine. Raises BadTime.
    """
    if not isinstance(value, datetime):
        what = f"{setting} must be a datetime with a time zone, not {type(value).__name__}."
        raise BadTime(what, hint="Give datetime.now(timezone.utc) + timedelta(...), or a delay.")
    if value.utcoffset() is None:
        what = f"{setting} is {value.isoformat()}, a naive datetime (it has no time zone)."
        hint = "Use datetime.now(timezone.utc) or value.astimezone(), or give a delay instead."
        raise BadTime(what, hint=hint)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        what = (
            f"{setting} is {value.isoformat()}, which has no place in the years 1 to 9999 of UTC."
        )
        raise BadTime(what, hint="Give an instant that can come to pass.") from None


def instant(text: str, setting: str) -> datetime:
    """The instant that people write as in ISO 8601, with its offset; in UTC. Raises BadTime."""
    try:
        return aware(datetime.fromisoformat(text), setting)
    except ValueError as error:
        if isinstance(error, BadTime):
            raise
        raise BadTime(
            f"{setting} is {shown(text)}, which is no instant.", hint=_INSTANT_HINT
        ) from None


def written(text: str, setting: str, *, allow_zero: bool = False) -> timedelta:
    """A duration as people write it: a number and w, d, h, m, s or ms; seconds without a unit.

    Bounds and errors are those of `duration`.
    """
    found = _WRITTEN.fullmatch(text.strip().lower())
    if not found:
        raise BadTime(f"{setting} is {shown(text)}, which is no duration.", hint=_WRITTEN_HINT)
    number, unit = float(found[1]), _UNITS[found[2] or "s"]
    if number * unit.total_seconds() > LONGEST.total_seconds():
        raise BadTime(f"{setting} is over ten years ({shown(text)}).", hint=_WRITTEN_HINT)
    return duration(number * unit, setting, allow_zero=allow_zero)


def in_units(length: timedelta) -> str:
    """As `written` reads it: in the largest unit of which it is a whole number of times."""
    for name in ("d", "h", "m", "s", "ms"):
        if length and not length % _UNITS[name]:
            return f"{length // _UNITS[name]}{name}"
    return f"{length.total_seconds():g}s"
