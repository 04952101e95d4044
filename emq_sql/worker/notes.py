"""Refusals that handlers met in their own transactions, on their way to the record."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from emq_sql.job import Lease

MOST = 10_000


@dataclass(frozen=True, slots=True)
class Note:
    """A call that the database refused, `at` an instant of the monotonic clock."""

    lease: Lease
    verb: str
    at: float


class Notes:
    """The newest `most` of them: the oldest are dropped, and counted, while nobody takes any.

    May be used from any thread. `heard` is called after each that is put, without the lock.
    """

    def __init__(self, most: int = MOST) -> None:
        self.heard: Callable[[], None] = lambda: None
        # The lock itself is what `with` takes: see Held.
        self._lock = threading.RLock()
        self._waiting: deque[Note] = deque(maxlen=most)
        self._dropped = 0

    def __len__(self) -> int:
        with self._lock:
            return len(self._waiting)

    def put(self, note: Note) -> None:
        """One more."""
        with self._lock:
            self._dropped += len(self._waiting) == self._waiting.maxlen
            self._waiting.append(note)
        self.heard()

    def take(self, most: int) -> list[Note]:
        """The oldest, so many at most."""
        with self._lock:
            return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def take_dropped(self) -> int:
        """How many were dropped since this was asked last."""
        with self._lock:
            dropped, self._dropped = self._dropped, 0
            return dropped
