"""Ids of jobs: UUIDv7, whose first 48 bits are the milliseconds of an instant."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from emq_sql.errors import BadJobId, BadTime
from emq_sql.rules.durations import aware
from emq_sql.rules.names import shown
from emq_sql.rules.printable import storable

FURTHEST_AHEAD = timedelta(days=1)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LAST_MS = (1 << 48) - 1
_TAIL_BITS = 74  # 12 between instant and variant, 62 after it
_TAIL_LAST = (1 << _TAIL_BITS) - 1
_STEP_BITS = 32
_LONGEST_HOLD_MS = 12 * 3_600_000
_JOB_ID_HINT = "job_id(key, at) makes one from a key; without an id, enqueue mints one."


class Mint:
    """Makes UUIDv7s that only grow, from any thread, also while the clock steps back.

    `now_ms()` is milliseconds since 1970 in UTC, `randbits(n)` n random bits. While the clock is
    behind the last id, ids keep the last instant and count on. A clock set back by more than 12
    hours is followed, since the server refuses ids dated more than a day ahead.
    """

    def __init__(self, now_ms: Callable[[], int], randbits: Callable[[int], int]) -> None:
        self._now_ms = now_ms
        self._randbits = randbits
        self.reseed()

    def reseed(self) -> None:
        """Forget the last id: a forked child must neither count on from its parent's, nor wait
        for a lock that a thread of the parent held.
        """
        self._lock = threading.Lock()
        self._last_ms = -1
        self._tail = 0

    def __call__(self) -> UUID:
        """A new id, above all ids made before."""
        with self._lock:
            self._advance(self._now(), self._randbits(_STEP_BITS))
            return _assemble(self._last_ms, self._tail)

    def many(self, count: int) -> list[UUID]:
        """New ids, each above the one before it and above all ids made before.

        The clock and the source of random bits are asked once: half the time that as many calls
        take.
        """
        steps = self._randbits(_STEP_BITS * count).to_bytes(_STEP_BITS * count // 8)
        ids = []
        with self._lock:
            now = self._now()
            for step in memoryview(steps).cast("I"):
                self._advance(now, step)
                ids.append(_assemble(self._last_ms, self._tail))
        return ids

    def _now(self) -> int:
        return min(max(self._now_ms(), 0), _LAST_MS)

    def _advance(self, now: int, step: int) -> None:
        if now > self._last_ms or now < self._last_ms - _LONGEST_HOLD_MS:
            self._begin(now)
        else:
            self._tail += 1 + step
            if self._tail > _TAIL_LAST:
                self._begin(min(self._last_ms + 1, _LAST_MS))

    def _begin(self, now: int) -> None:
        self._last_ms = now
        # The top bit stays clear: there is room to count on within the millisecond.
        self._tail = self._randbits(_TAIL_BITS - 1)


def job_id(key: str, at: datetime) -> UUID:
    """The id that a key and an instant make: the same on every call, and in SQL `emq.job_id`.

    Enqueued twice, it is one job. `at` should be an instant of the thing itself (the order's
    date), not now. Raises BadJobId for a key that PostgreSQL's text cannot hold, BadTime for an
    instant that is naive or before 1970.
    """
    if not isinstance(key, str):
        raise BadJobId(f"The key must be a string, not {type(key).__name__}.", hint="Use str(key).")
    if not storable(key):
        what = f"The key {shown(key)} holds a NUL character or a lone surrogate."
        raise BadJobId(what, hint="PostgreSQL cannot store it: use repr(key).")
    milliseconds = (aware(at, "at") - _EPOCH) // _MILLISECOND
    if milliseconds < 0:
        what = f"at is {at.isoformat()}; an id cannot be dated before 1970."
        raise BadTime(what, hint="Give a later instant; it must only be the same at each call.")
    digest = hashlib.md5(key.encode(), usedforsecurity=False).digest()
    tail = int.from_bytes(digest[6:])
    return _assemble(milliseconds, (tail >> 64 & 0xFFF) << 62 | tail & ((1 << 62) - 1))


def id_time(job: UUID) -> datetime | None:
    """The instant of an id in UTC, to the millisecond; None when it is not a UUIDv7.

    Instants after the year 9999 are answered as the last one that a datetime can hold.
    """
    if job.int >> 76 & 0xF != 7:
        return None
    try:
        return _EPOCH + (job.int >> 80) * _MILLISECOND
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def check(value: object, now: datetime | None = None) -> UUID:
    """The id as a UUID, from a UUID or its text; raises BadJobId when it is not a UUIDv7.

    With `now`, also when it is dated more than a day after it. Leave `now` out where the server
    will look: its clock decides, not the caller's.
    """
    job = _as_uuid(value)
    dated = id_time(job)
    if dated is None:
        raise BadJobId(f"Job id {job} is not a UUIDv7.", hint=_JOB_ID_HINT)
    if now is not None and dated > aware(now, "now") + FURTHEST_AHEAD:
        what = f"Job id {job} is dated {dated.isoformat()}, more than a day ahead."
        raise BadJobId(what, hint="Look at the clock that made it, or the instant of job_id.")
    return job


def _as_uuid(value: object) -> UUID:
    if isinstance(value, UUID):
        return value
    if isinstance(value, str):
        try:
            return UUID(value)
        except ValueError:
            raise BadJobId(f"Job id {shown(value)} is not a UUID.", hint=_JOB_ID_HINT) from None
    raise BadJobId(f"A job id must be a UUID, not {type(value).__name__}.", hint=_JOB_ID_HINT)


def _assemble(milliseconds: int, tail: int) -> UUID:
    head = milliseconds << 80 | 0x7 << 76 | (tail >> 62) << 64
    return UUID(int=head | 0b10 << 62 | tail & ((1 << 62) - 1))
