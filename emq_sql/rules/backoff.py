"""How long a job that failed waits before its next run."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from emq_sql.errors import BadSetting
from emq_sql.rules.durations import duration

Seconds = float | timedelta
DelayOf = Callable[[int], Seconds]

# Half a second and not more: the first default delay is 2 s, and jobs that failed together must
# spread over more than half of it.
_USUAL_MINIMUM = timedelta(seconds=0.5)
_USUAL_CAP = timedelta(hours=1)
_LONGEST_CUSTOM = timedelta(days=30)
# Ten years over a microsecond is less than 2**49: beyond this the cap has long been reached.
_ENOUGH_DOUBLINGS = 60

_UNKNOWN_TASK_FIRST = timedelta(seconds=5)
_UNKNOWN_TASK_CAP = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Backoff:
    """A curve of delays, a cap, a minimum, and whether the delay is drawn at random below it.

    With `jitter` (the default of the fixed curves) a delay is uniform between `minimum` and the
    curve's value, so that jobs that failed together do not come back together. Durations are
    seconds or timedelta; the due time is computed by the database's clock. Made by
    `exponential`, `linear`, `constant` or `custom`; each raises BadTime or BadSetting.
    """

    kind: Literal["exponential", "linear", "constant", "custom"]
    base: timedelta
    cap: timedelta
    minimum: timedelta
    jitter: bool = True
    function: DelayOf | None = None

    def __post_init__(self) -> None:
        """Refuse a minimum over the cap, and a custom curve without its function."""
        if self.minimum > self.cap:
            what = f"The backoff's minimum ({self.minimum}) is over its cap ({self.cap})."
            raise BadSetting(what, hint="Lower the minimum or raise the cap.")
        if (self.kind == "custom") != (self.function is not None):
            what = f"A backoff of kind {self.kind!r} {'needs' if self.kind == 'custom' else 'has'}"
            hint = "Use Backoff.custom(function)."
            raise BadSetting(
                f"{what} {'a' if self.kind == 'custom' else 'no'} function.", hint=hint
            )

    @staticmethod
    def exponential(
        base: Seconds = 2.0,
        *,
        cap: Seconds = _USUAL_CAP,
        minimum: Seconds | None = None,
        jitter: bool = True,
    ) -> Backoff:
        """`base`, twice `base`, four times `base` ... up to `cap` (one hour)."""
        return _curve("exponential", base, cap, minimum, jitter)

    @staticmethod
    def linear(
        base: Seconds = 10.0,
        *,
        cap: Seconds = _USUAL_CAP,
        minimum: Seconds | None = None,
        jitter: bool = True,
    ) -> Backoff:
        """`base`, twice `base`, three times `base` ... up to `cap` (one hour)."""
        return _curve("linear", base, cap, minimum, jitter)

    @staticmethod
    def constant(base: Seconds, *, minimum: Seconds | None = None, jitter: bool = True) -> Backoff:
        """`base` each time; zero retries at once."""
        return _curve("constant", base, base, minimum, jitter)

    @staticmethod
    def custom(
        function: DelayOf,
        *,
        cap: Seconds = _LONGEST_CUSTOM,
        minimum: Seconds = 0.0,
        jitter: bool = False,
    ) -> Backoff:
        """What `function(failures)` answers (seconds or timedelta), kept within the bounds."""
        highest = duration(cap, "backoff cap", allow_zero=True)
        lowest = duration(minimum, "backoff minimum", allow_zero=True)
        return Backoff("custom", lowest, highest, lowest, jitter, function)


Policy = Backoff | DelayOf | Seconds


def as_backoff(policy: Policy | None, setting: str = "backoff") -> Backoff:
    """The curve that a setting stands for: a Backoff, a function, constant seconds, or None.

    None is `DEFAULT`. Raises BadSetting or BadTime, naming the setting.
    """
    if policy is None:
        return DEFAULT
    if isinstance(policy, Backoff):
        return policy
    if isinstance(policy, (int, float, timedelta)):
        return Backoff.constant(duration(policy, setting, allow_zero=True))
    if callable(policy):
        return Backoff.custom(policy)
    what = f"{setting} is of type {type(policy).__name__}, which makes no delay."
    raise BadSetting(what, hint="Give a Backoff, seconds, or a function of the failures.")


def delay(policy: Policy | None, failures: int, rng: random.Random) -> timedelta:
    """The wait after the given number of failures, the present one included (1 or more).

    Never below the minimum nor over the cap. With a custom function: whatever it raises, and
    BadTime when its answer is no duration.
    """
    curve = as_backoff(policy)
    nominal = min(max(_nominal(curve, max(failures, 1)), curve.minimum), curve.cap)
    if not curve.jitter:
        return nominal
    drawn = rng.uniform(curve.minimum.total_seconds(), nominal.total_seconds())
    return min(max(timedelta(seconds=drawn), curve.minimum), nominal)


def unknown_task_delay(attempts: int) -> timedelta:
    """The snooze of a job whose task this worker does not know: 5 s doubling to one hour."""
    doublings = min(max(attempts - 1, 0), _ENOUGH_DOUBLINGS)
    return _scaled(_UNKNOWN_TASK_FIRST, 2**doublings, _UNKNOWN_TASK_CAP)


def _nominal(curve: Backoff, failures: int) -> timedelta:
    if curve.function is not None:
        return duration(curve.function(failures), "the delay of the backoff", allow_zero=True)
    if curve.kind == "exponential":
        return _scaled(curve.base, 2 ** min(failures - 1, _ENOUGH_DOUBLINGS), curve.cap)
    if curve.kind == "linear":
        return _scaled(curve.base, failures, curve.cap)
    return curve.base


def _scaled(base: timedelta, factor: int, cap: timedelta) -> timedelta:
    # Compared before it is multiplied: the product may be more than a timedelta holds.
    return cap if base and factor > cap / base else min(base * factor, cap)


def _curve(
    kind: Literal["exponential", "linear", "constant"],
    base: Seconds,
    cap: Seconds,
    minimum: Seconds | None,
    jitter: bool,
) -> Backoff:
    first = duration(base, "backoff base", allow_zero=True)
    highest = duration(cap, "backoff cap", allow_zero=True)
    if first > highest:
        what = f"The backoff's base ({first}) is over its cap ({highest})."
        raise BadSetting(what, hint="Lower the base or raise the cap.")
    lowest = min(first, _USUAL_MINIMUM)
    if minimum is not None:
        lowest = duration(minimum, "backoff minimum", allow_zero=True)
    return Backoff(kind, first, highest, lowest, jitter)


DEFAULT = Backoff.exponential()
