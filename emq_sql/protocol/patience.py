"""How long to wait before the database is asked again."""

from __future__ import annotations

import random
from datetime import timedelta

from emq_sql.rules.backoff import Backoff, delay

_CURVE = Backoff.exponential(0.1, cap=timedelta(seconds=10), minimum=0.02)


class Patience:
    """Growing, jittered pauses of 10 seconds at most; a success sets them back."""

    def __init__(self) -> None:
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret
        self.failures = 0

    def pause(self) -> float:
        """Seconds to wait after one more failure."""
        self.failures += 1
        return delay(_CURVE, self.failures, self._rng).total_seconds()

    def succeeded(self) -> None:
        """The database has answered."""
        self.failures = 0

    def jittered(self, interval: timedelta) -> float:
        """Seconds around the interval, so that workers do not ask in step."""
        return interval.total_seconds() * self._rng.uniform(0.75, 1.25)
