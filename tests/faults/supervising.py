"""What surrounds workers in production: who starts them again, and who reaps without them."""

from __future__ import annotations

import time
from typing import Any

from tests.faults.forking import Forked, ForkedField

PATIENCE = 60.0


class Supervisor:
    """Keeps so many workers alive; `deaths` counts those that ended. Expired leases are taken back
    from here, as psql may, so that tests need not wait for the workers' own upkeep.
    """

    def __init__(self, field: ForkedField, workers: int = 1, **settings: Any) -> None:
        self.deaths = 0
        self._field = field
        self._settings = settings
        self.workers: list[Forked] = [field.start(**settings) for _ in range(workers)]

    def until(self, query: str, *params: Any, seconds: float = PATIENCE) -> None:
        """Supervise until the query answers true."""
        end = time.monotonic() + seconds
        while not self._field.one(query, *params):
            assert time.monotonic() < end, f"{query}\n{self._field.logged()}"
            for place, worker in enumerate(self.workers):
                if worker.poll() is not None:
                    self.deaths += 1
                    self.workers[place] = self._field.start(**self._settings)
            self._field.rows("select emq.reap(100)")
            time.sleep(0.02)
