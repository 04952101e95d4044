"""What is taken back, by whom, and how it is seen that nobody does."""

from __future__ import annotations

import json
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from tests.cli.conftest import Emq
from tests.faults.forking import ForkedField
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

LIVE = 5_000
ENQUEUE = (
    "select emq.enqueue('default', 't', '{}', emq.uuid7(), p_max_attempts => 100)"
    " from generate_series(1, %s)"
)
CLAIM = "select id from emq.claim('default', %s, 'w', %s, %s::interval)"
UNTIL_EXPIRED = "(select count(*) = %s from emq.active where lease_deadline < clock_timestamp())"


def expired(ledger: Ledger, n: int) -> list[object]:
    """So many jobs whose leases are over."""
    ledger.run(ENQUEUE, n)
    ids = ledger.column(CLAIM, n, 2, "1 ms")
    assert len(ids) == n
    ledger.wait(UNTIL_EXPIRED, n)
    return ids


def test_expired_leases_behind_thousands_that_run_are_taken_back_in_one_small_batch(
    ledger: Ledger,
) -> None:
    ledger.run(ENQUEUE, LIVE)
    assert len(ledger.column(CLAIM, LIVE, 1, "1 h")) == LIVE
    ids = expired(ledger, 10)
    assert ledger.reap(100) == (10, 0, 0)
    assert ledger.one("select count(*) from emq.pending where id = any (%s)", ids) == 10
    assert ledger.one("select count(*) from emq.active") == LIVE


def test_a_lost_lease_comes_back_although_each_slot_is_taken_for_an_hour(
    field: ForkedField, ledger: Ledger
) -> None:
    """No pg_cron, no free slot, no handler for the task: a worker's upkeep needs none of them."""
    lost = field.enqueue("nobody_knows_it", queue="elsewhere")
    (held,) = ledger.claim(1, "elsewhere", lease="200 ms")
    field.enqueue("hold", 2, _lease=timedelta(hours=1))
    worker = field.start(concurrency=2)
    field.until_started(2)
    field.until("select count(*) = 1 from emq.pending where id = %s and stalled = 1", lost[0])
    assert held.id == lost[0]
    assert field.one("select count(*) from emq.active where queue = 'default'") == 2
    assert worker.poll() is None


def test_a_hundred_reaps_one_after_the_other_and_at_once_count_each_lease_once(
    db: Database, ledger: Ledger
) -> None:
    for sessions in (1, 10):
        ids = expired(ledger, 500)
        before = ledger.one("select count(*) from emq.attempt")
        start = threading.Barrier(sessions)

        def reaps(n: int, start: threading.Barrier = start) -> int:
            session = Ledger(db.connect())
            start.wait(20)
            return sum(session.reap()[0] for _ in range(n))

        with ThreadPoolExecutor(sessions) as pool:
            assert sum(pool.map(reaps, [100 // sessions] * sessions)) == 500
        assert ledger.one("select count(*) from emq.attempt") - before == 500
        back = "select count(*) from emq.pending where id = any (%s) and stalled = 1"
        assert ledger.one(back, ids) == 500
        ledger.run("select emq.complete(array_agg(id), array_agg(fence))"
                   " from emq.claim('default', 500, 'w', 3)")  # fmt: skip


def test_leases_that_nobody_takes_back_are_counted_and_are_a_failure(
    db: Database, field: ForkedField
) -> None:
    emq = Emq(db.dsn)
    field.enqueue("hold", 10)
    worker = field.start(concurrency=10, lease=0.5)
    field.until_started(10)
    worker.send(signal.SIGKILL)
    worker.wait()
    longer = "select count(*) = 10 from emq.active where lease_deadline < clock_timestamp() - %s"
    field.until(longer, timedelta(seconds=0.2))
    told = emq("doctor", "--reap-interval", "0.1", "--json")
    stuck = next(each for each in json.loads(told.out) if each["subject"] == "stuck")
    assert (told.code, stuck["state"]) == (1, "bad")
    assert stuck["found"].startswith("10 leases ") and stuck["advice"]
    assert emq("maintain", "--once").code == 0
    told = emq("doctor", "--reap-interval", "0.1", "--json")
    stuck = next(each for each in json.loads(told.out) if each["subject"] == "stuck")
    assert (told.code, stuck["state"], stuck["found"][:2]) == (0, "ok", "0 ")
