"""A worker uses as many connections as its first line says, whatever happens."""

from __future__ import annotations

import re
import threading

import psycopg
import pytest

from tests.service.conftest import Place

pytestmark = pytest.mark.faults

# Its connections are named "emq ...", and "emq_sql" before they have said their names.
OURS = """
select count(*) from pg_stat_activity
 where datname = current_database() and application_name like 'emq%'
"""
END = """
select pg_terminate_backend(pid, 5000) from pg_stat_activity
 where datname = current_database() and application_name like %s
"""
ROUNDS = 5


def test_fifty_slots_and_twenty_reconnects_use_no_more_connections_than_were_said(
    place: Place,
) -> None:
    worker = place.started("--concurrency", "50", "--lease", "0.6")
    place.enqueue("deaf", 49)  # one slot is free, so claims go on
    place.until_running(49)
    said = re.search(r"at most (\d+) connections", worker.said())
    assert said is not None
    most = int(said[1])
    with Samples(place.dsn) as samples:
        for _ in range(ROUNDS):
            for what in ("claim", "keep", "upkeep", "bell"):
                place.reader.execute(END, [f"emq {what} %"])
            place.until_true(f"select ({OURS}) = {most}")
    assert most <= 4 and samples.most == most
    assert samples.count > 50
    place.touch()
    place.until_true("select count(*) = 49 from emq.archive")
    assert worker.status("/live") == 200


class Samples:
    """Counts the connections of workers again and again, from a session of its own."""

    def __init__(self, dsn: str) -> None:
        self.most = self.count = 0
        self._connection = psycopg.connect(dsn, autocommit=True)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Samples:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(30)
        self._connection.close()

    def _run(self) -> None:
        while not self._done.wait(0.01):
            row = self._connection.execute(OURS.encode()).fetchone()
            assert row is not None
            self.most = max(self.most, row[0])
            self.count += 1
