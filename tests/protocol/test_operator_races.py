"""Operators' verbs in the middle of everything else: no job between two places, nobody waits."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from tests.plugins.databases import Database
from tests.protocol.calls import Ledger
from tests.protocol.conftest import NEVER_WAIT
from tests.protocol.emptying import drain, obliterate

SECONDS = 1.5
QUEUES = ("a", "b")
PLACES = ("pending", "scheduled", "active", "dead", "archive")


def produce(ledger: Ledger, rng: random.Random) -> None:
    queue = rng.choice(QUEUES)
    named = rng.choice([{}, {}, {"delay": "50 ms"}, {"max_attempts": 1}])
    ledger.add_one(queue, **named)
    ledger.rows("select emq.enqueue_unless_waiting(%s, 'one', '{}')", queue)


def work(ledger: Ledger, rng: random.Random) -> None:
    lease = rng.choice(["1 ms", "1 min"])
    for held in ledger.claim(5, rng.choice(QUEUES), lease=lease, worker=f"w{rng.randrange(3)}"):
        verb = rng.choice([ledger.complete, ledger.retry, ledger.release, lambda _: None])
        verb(held)
    ledger.promote()
    ledger.reap()


def operate(ledger: Ledger, rng: random.Random) -> None:
    queue = rng.choice(QUEUES)
    rng.choice(
        [
            lambda: drain(ledger, queue, 5, scheduled=True),
            lambda: ledger.rows("select emq.release_worker(%s, 5)", f"w{rng.randrange(3)}"),
            lambda: ledger.rows("select emq.tidy(10)"),
            lambda: ledger.rows("select emq.replay(id) from emq.dead limit 2"),
            lambda: ledger.rows("select emq.discard(id) from emq.dead limit 1"),
        ]
    )()


def empty(ledger: Ledger, rng: random.Random) -> None:
    """From the beginning to the end, and the queue goes on."""
    queue, after = rng.choice(QUEUES), None
    while True:
        batch = obliterate(ledger, queue, 5, after=after, force=True)
        if batch.status not in ("more", "busy"):
            break
        after = batch.next
    ledger.rows("select emq.resume(%s)", queue)


def test_no_job_is_lost_between_two_places_and_nobody_waits(db: Database, ledger: Ledger) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    until = time.monotonic() + SECONDS
    failures: list[BaseException] = []

    def go(turn: Callable[[Ledger, random.Random], None], number: int) -> None:
        session, rng = Ledger(db.connect(options=NEVER_WAIT)), random.Random(seed + number)
        try:
            while time.monotonic() < until and not failures:
                turn(session, rng)
        except BaseException as error:
            failures.append(error)

    turns = [produce, produce, work, work, operate, empty, empty]
    threads = [threading.Thread(target=go, args=(turn, n)) for n, turn in enumerate(turns)]
    for thread in threads:
        thread.start()
    while time.monotonic() < until:
        assert ledger.rows("select * from emq.misplaced") == []
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    assert ledger.rows("select * from emq.misplaced") == []
    placed = " + ".join(f"(select count(*) from emq.{place})" for place in PLACES)
    assert ledger.one(f"select count(*) = {placed} from emq.job")
    ledger.rows("select pg_stat_clear_snapshot()")
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    assert ledger.one(deadlocks) == 0
    assert ledger.one("select count(*) from emq.audit where verb = 'obliterate'") > 2
