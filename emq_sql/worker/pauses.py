"""Which queues are paused, as far as the lease keeper was told."""

from __future__ import annotations

import threading
from collections.abc import Collection


class Pauses:
    """What the newest answer about leases said of the queues; asking costs no statement.

    Instants are of the monotonic clock. May be used from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[str, float] = {}

    def told(self, queues: Collection[str], at: float) -> tuple[list[str], list[str]]:
        """The answer to a question sent at `at`: these are paused. What is new: (paused, not)."""
        with self._lock:
            new = [queue for queue in queues if queue not in self._since]
            over = [queue for queue in self._since if queue not in queues]
            self._since = dict.fromkeys(queues, at)
        return new, over

    def runs(self, queue: str, at: float) -> bool:
        """A claim sent at `at` brought jobs of it; True when it had been thought paused then."""
        with self._lock:
            known = self._since.get(queue)
            if known is None or known > at:
                return False
            del self._since[queue]
            return True

    def paused(self, queue: str) -> bool:
        """Whether it is paused, as far as is known."""
        with self._lock:
            return queue in self._since

    def known_at(self) -> dict[str, float]:
        """The paused queues, and when the question was sent whose answer said so."""
        with self._lock:
            return dict(self._since)
