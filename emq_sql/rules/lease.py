"""The arithmetic of leases and fences.

The server's clock alone decides when a lease ends. What a worker reckons here, on its own
monotonic clock, only says when to extend next and when to stop believing that it still holds.
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache

from emq_sql.errors import BadSetting
from emq_sql.rules.durations import duration

USUAL = timedelta(seconds=30)
SHORTEST = timedelta(milliseconds=200)
LONGEST = timedelta(days=1)

NONCE_BITS = 40
LARGEST_NONCE = (1 << NONCE_BITS) - 1
LARGEST_ATTEMPTS = (1 << 23) - 1  # attempts and nonce together are a positive bigint


def lease_length(value: object, setting: str = "lease") -> timedelta:
    """A lease of 0.2 seconds to one day, from seconds or a timedelta.

    Shorter ones end in any hiccup of network or disk; a longer job needs no longer lease, since
    the worker extends it. Raises BadTime, or BadSetting when it is out of these bounds.
    """
    length = duration(value, setting)
    if length < SHORTEST:
        what = f"{setting} is {length.total_seconds():g} s; the shortest lease is 0.2 s."
        raise BadSetting(what, hint="Some tens of seconds suit most work.")
    if length > LONGEST:
        what = f"{setting} is {length}; the longest lease is one day."
        hint = "A lease bounds the wait after a crash, not the run: workers extend it as they go."
        raise BadSetting(what, hint=hint)
    return length


@lru_cache(maxsize=256)
def usual_interval(lease: timedelta, interval: timedelta | None) -> timedelta:
    """The third of a lease, at which it is extended; or the interval that was set, if sooner."""
    third = lease / 3
    return third if interval is None else min(third, interval)


def extend_interval(lease: timedelta, interval: object = None) -> timedelta:
    """The time between two extensions: a third of the lease, or the interval that was set.

    One over a third is refused, so that an extension may fail once, and its repetition too, before
    the lease ends. Raises BadTime or BadSetting.
    """
    if interval is None:
        return lease / 3
    length = duration(interval, "extend interval")
    if length > lease / 3:
        what = (
            f"The extend interval ({length.total_seconds():g} s) is over a third of "
            f"the lease ({lease.total_seconds():g} s), at which leases are extended anyway."
        )
        hint = "Make it shorter, leave it out, or set a longer lease."
        raise BadSetting(what, hint=hint)
    return length


def next_due(extended_at: float, interval: timedelta) -> float:
    """The monotonic instant, in seconds, at which the next extension is due.

    `extended_at` is when the last extension that committed, or else the claim, was *sent*: the
    server counts from an instant after it, so reckoning from there can only be early.
    """
    return extended_at + interval.total_seconds()


def lapses_at(extended_at: float, lease: timedelta) -> float:
    """The monotonic instant from which the worker must take the lease for lost."""
    return extended_at + lease.total_seconds()


def is_lost(extended_at: float, lease: timedelta, now: float) -> bool:
    """Whether a lease last extended at `extended_at` must be taken for lost at `now`.

    No answer from the server is no reason to hope: after one lease without an extension that
    committed, another worker may hold the job.
    """
    return now >= lapses_at(extended_at, lease)


def fence(attempts: int, nonce: int) -> int:
    """The fence of a claim: `(attempts << 40) | nonce`, a positive bigint."""
    if not 0 <= attempts <= LARGEST_ATTEMPTS:
        raise ValueError(f"attempts must be 0 to {LARGEST_ATTEMPTS}, not {attempts}")
    if not 0 <= nonce <= LARGEST_NONCE:
        raise ValueError(f"a nonce has {NONCE_BITS} bits, not {nonce.bit_length()}")
    return attempts << NONCE_BITS | nonce


def attempts_of(fence: int) -> int:
    """The attempts in a fence."""
    return fence >> NONCE_BITS


def nonce_of(fence: int) -> int:
    """The nonce in a fence."""
    return fence & LARGEST_NONCE
