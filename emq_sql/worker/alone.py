"""One job on its last chance at a time, and as far as possible nothing else beside it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic

from emq_sql.worker.endings import Ending, Released, Snoozed
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Executor
from emq_sql.worker.held import Held

PATIENCE = 5.0  # seconds for the handlers that run in the worker's process when one comes
ALONE = 10.0  # seconds of its run: what kills, mostly kills at once
START = 30.0  # seconds for its process to start
LOOK = 1.0  # seconds between two looks whether it has begun

_FIRST = 2.0  # seconds in the line for one that comes while another one is held
_LONGEST = 30.0


class Alone:
    """Who of the freshly claimed may stay.

    Whatever ends a worker, a handler that kills its parent or the kernel that ends a container as a
    whole, takes all leases along that it holds, and a job on its last chance is a dead letter then.
    So a worker holds one such job at most, and for the first seconds of its run nothing else that
    has begun after it: then it has proved to be no quick killer, and the other slots are served
    again. A handler that runs in the worker's own process when such a job comes may end it any
    moment. The job goes back then, and nothing is claimed before these handlers have ended, or the
    patience has.

    Belongs to the main loop. `burst`: nothing may be left for later, so it is alone to its end.
    """

    def __init__(self, held: Held, executor: Executor, *, burst: bool) -> None:
        self._held = held
        self._executor = executor
        self._burst = burst
        self._rng = random.Random()  # noqa: S311 - so that workers do not meet it in step
        self._came = 0.0
        self._waits_since: float | None = None
        self._singly = False

    def sort(self, entries: Sequence[Entry], last: Sequence[Entry]) -> dict[Entry, Ending]:
        """Those of `entries` that go back to the line at no cost, and how; the others are begun.
        `last` of them are on their last chance.
        """
        now = monotonic()
        if self._held.last_chance is not None:
            if self._is_alone(now) is not None:
                return dict.fromkeys(entries, Released())
            # Released, they would be at the head of the line, for this worker to claim them again.
            back: dict[Entry, Ending] = {entry: Snoozed(self._pause(entry)) for entry in last}
        elif not last:
            self._singly = False
            back = {}
        elif self._has_room(now):
            self._came, self._singly = now, True
            self._held.mark(last[0])
            return dict.fromkeys([entry for entry in entries if entry is not last[0]], Released())
        else:
            self._waits_since = now
            return dict.fromkeys(last, Released())
        if len(back) < len(entries):
            self._waits_since = None  # what is begun now has proved nothing yet
        return back

    def not_before(self) -> float | None:
        """The monotonic instant at which to look again whether more may be claimed; None: now."""
        now = monotonic()
        if self._held.last_chance is not None:
            return self._is_alone(now)
        if self._waits_since is None:
            return None
        if not self._executor.inside:
            self._waits_since = None
            return None
        until = self._waits_since + PATIENCE
        return until if now < until else None

    def most(self, free: int) -> int:
        """How many may be claimed when so many slots are free. Where one on its last chance was,
        more are to be expected: by ones, none comes in vain.
        """
        return min(free, 1) if self._singly and self._held.last_chance is None else free

    def _has_room(self, now: float) -> bool:
        since = self._waits_since
        return not self._executor.inside or (since is not None and now >= since + PATIENCE)

    def _is_alone(self, now: float) -> float | None:
        """When to look again whether it still has to be; None when it has been for long enough."""
        if self._burst:
            return float("inf")
        begun = self._held.last_chance_begun
        if begun is None:
            return min(self._came + START, now + LOOK) if now < self._came + START else None
        return begun + ALONE if now < begun + ALONE else None

    def _pause(self, entry: Entry) -> timedelta:
        """Longer each time, so that many of them do not keep the database busy."""
        claimed = entry.claimed
        in_vain = max(claimed.lease.attempts - 1 - claimed.stalled - claimed.failures, 0)
        longest = min(_FIRST * 2.0 ** min(in_vain, 10), _LONGEST)
        return timedelta(seconds=longest * self._rng.uniform(0.5, 1.0))
