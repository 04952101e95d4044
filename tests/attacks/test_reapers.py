"""Many expired leases, four reapers at once, and completions meanwhile.

EMQ_SQL_REAP_LEASES=100000 is a campaign (make reap); the suite does a slice of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg

from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

LEASES = int(os.environ.get("EMQ_SQL_REAP_LEASES", "2000"))
REAPERS = 4
LIMIT = 500
LATE = 20  # one of so many is completed late, by the fence of its lost lease
PATIENCE = 600
NAME = "one of the crowd"

_ENQUEUE = (
    "select count(*) from (select emq.enqueue(%s, 't', '{}', emq.uuid7())"
    " from generate_series(1, %s)) x"
)
_EXPIRED = "from emq.active where queue = 'lost' and lease_deadline < clock_timestamp()"
# Rows fetched by index, and entries read of the index of deadlines, those of dead rows among them.
_READ = """
select sum(coalesce(idx_tup_fetch, 0)),
       (select idx_tup_read from pg_stat_user_indexes where indexrelname = 'active_deadline_idx')
  from pg_stat_user_tables where schemaname = 'emq'
"""
# A reaper steps over what the three others hold just now, and reads what it takes, its envelope and
# where it goes. Were it to walk all that was there before, it would be half of all leases.
MOST_ROWS, MOST_ENTRIES = 15, 20


def abandoned(db: Database, ledger: Ledger) -> None:
    """As many jobs as there are leases to lose, claimed by a process that is dead now."""
    for done in range(0, LEASES, 10_000):
        ledger.one(_ENQUEUE, "lost", min(10_000, LEASES - done))
    left = subprocess.run(
        [sys.executable, "-m", "tests.attacks.leaving", db.dsn, str(LEASES)],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (left.returncode, left.stdout) == (-9, f"{LEASES}\n"), left.stderr
    ledger.wait(f"(select count(*) = %s {_EXPIRED})", LEASES)


def work_read(ledger: Ledger) -> tuple[int, int]:
    """Rows and index entries read until now."""
    ledger.wait(
        "not exists (select from pg_stat_activity where datname = current_database()"
        " and application_name = %s)",
        NAME,
    )  # fmt: skip - a session that ends leaves its counts
    rows, entries = ledger.row(_READ)
    return int(rows), int(entries)


class Crowd:
    """Reapers, and others that complete jobs, until no expired lease is left."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._start = threading.Barrier(REAPERS + 2)
        self._reaped = threading.Event()

    def _session(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._dsn, autocommit=True, application_name=NAME)

    def reap(self) -> int:
        """How many this one has recovered."""
        recovered = 0
        with self._session() as conn:
            ledger = Ledger(conn)
            self._start.wait(PATIENCE)
            back = LIMIT
            while back or ledger.one(f"select exists (select {_EXPIRED})"):
                back, dead, skipped = ledger.reap(LIMIT)
                assert (dead, skipped) == (0, 0)
                recovered += back
        return recovered

    def complete_late(self, held: list[tuple[Any, int]]) -> int:
        """How many were still to be had by the fences of their lost leases."""
        done = 0
        with self._session() as conn:
            ledger = Ledger(conn)
            self._start.wait(PATIENCE)
            for one in held:
                answer = ledger.complete(one)
                while answer == ["busy"]:
                    answer = ledger.complete(one)
                done += answer == ["done"]
        return done

    def work(self) -> int:
        """Other jobs, enqueued, claimed and completed all the time."""
        done = 0
        with self._session() as conn:
            ledger = Ledger(conn)
            self._start.wait(PATIENCE)
            while not self._reaped.is_set():
                ledger.one(_ENQUEUE, "live", 10)
                held = ledger.claim(10, "live", lease="1 h")
                assert ledger.complete(*held) == ["done"] * len(held)
                done += len(held)
        return done

    def all_at_once(self, late: list[tuple[Any, int]]) -> tuple[int, int, int]:
        """Recovered, completed late, completed in time."""
        with ThreadPoolExecutor(REAPERS + 2) as pool:
            works: Future[int] = pool.submit(self.work)
            lates: Future[int] = pool.submit(self.complete_late, late)
            reaps = [pool.submit(self.reap) for _ in range(REAPERS)]
            try:
                recovered = sum(each.result(PATIENCE) for each in reaps)
                completed = lates.result(PATIENCE)
            finally:
                self._reaped.set()
            return recovered, completed, works.result(PATIENCE)


def test_each_expired_lease_is_taken_back_once_by_one_of_four_reapers(db: Database) -> None:
    ledger = Ledger(db.connect())
    abandoned(db, ledger)
    held = ledger.rows("select id, fence from emq.active order by lease_deadline")
    before = work_read(ledger)
    recovered, late, done = Crowd(db.dsn).all_at_once(held[::-LATE])
    assert recovered + late == LEASES
    assert recovered > 0 and done > 0
    counted = (
        "select count(*), count(distinct id) from emq.attempt"
        " where how = 'stalled' and id = any (%s)"
    )
    ids = [id for id, _ in held]
    assert ledger.row(counted, ids) == (recovered, recovered)
    back = "select count(*) from emq.pending where queue = 'lost' and stalled = 1 and failures = 0"
    assert ledger.one(back) == recovered
    completed = "select count(*) from emq.archive where queue = 'lost' and status = 'completed'"
    assert ledger.one(completed) == late
    assert ledger.one("select count(*) from emq.active") == 0
    assert ledger.one("select sum(recovered) from emq.reap_log") == recovered

    rows, entries = (now - then for now, then in zip(work_read(ledger), before, strict=True))
    jobs = LEASES + done
    assert rows <= MOST_ROWS * jobs and entries <= MOST_ENTRIES * jobs, (rows, entries, jobs)
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    assert ledger.one(deadlocks) == 0
