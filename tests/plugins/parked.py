"""Somebody who waits for jobs as a worker does, and tells what rang."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emq_sql.protocol import bell, upkeep
from tests.plugins.databases import Database

PATIENCE = 20.0
_END = "end"


class Parked:
    """Listens and is parked for the queues `default` and `mail`."""

    def __init__(self, db: Database, *queues: str) -> None:
        self._listening = db.connect()
        self._other = db.connect()
        self._come: list[str] = []
        bell.listen(self._listening, "emq")
        bell.park(self._listening, "emq", queues)

    def hears(self) -> str:
        """The next queue that is rung for."""
        if not self._come:
            came = self._listening.notifies(timeout=PATIENCE, stop_after=1)
            self._come = [heard.payload for heard in came]
        return self._come.pop(0)

    def heard(self) -> list[str]:
        """All that was rung for since it was last asked, up to now."""
        upkeep.ring(self._other, "emq", _END)
        heard = []
        while (queue := self.hears()) != _END:
            heard.append(queue)
        return heard


@pytest.fixture
def parked(db: Database) -> Iterator[Parked]:
    """Waits for jobs of `default` and `mail`."""
    yield Parked(db, "default", "mail")
