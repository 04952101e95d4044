"""max_active: how many jobs of a queue run at once, over all workers."""

from __future__ import annotations

import threading

from tests.plugins.databases import Database
from tests.protocol.calls import Ledger


def test_no_more_than_so_many_are_active(ledger: Ledger) -> None:
    ledger.set_queue(max_active=2)
    ledger.add(5)
    first = ledger.claim(9)
    assert len(first) == 2
    assert ledger.claim(9) == []
    ledger.complete(first[0])
    assert len(ledger.claim(9)) == 1
    ledger.set_queue(max_active=None)
    assert len(ledger.claim(9)) == 2


def test_other_queues_do_not_count(ledger: Ledger) -> None:
    ledger.set_queue(max_active=1)
    ledger.start("other")
    ledger.add(2)
    assert len(ledger.claim(9)) == 1


def test_a_lost_job_counts_until_it_is_reaped_and_no_longer(ledger: Ledger) -> None:
    ledger.set_queue(max_active=1)
    lost = ledger.abandoned()
    ledger.add_one()
    assert ledger.claim() == []
    ledger.reap()
    assert ledger.take().id == lost.id


def test_while_somebody_claims_others_get_nothing_and_do_not_wait(
    ledger: Ledger, other: Ledger
) -> None:
    ledger.set_queue(max_active=1)
    ledger.add(2)
    assert len(other.claim()) == 1
    assert ledger.claim() == []
    other.conn.rollback()
    assert len(ledger.claim()) == 1


def test_many_who_claim_at_once_never_pass_it(db: Database, ledger: Ledger) -> None:
    ledger.set_queue(max_active=3)
    ledger.add(40)
    seen: list[int] = []

    def work() -> None:
        mine = Ledger(db.connect())
        for _ in range(60):
            held = mine.claim(2)
            seen.append(mine.one("select count(*) from emq.active"))
            mine.complete(*held)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(seen) <= 3
    while held := ledger.claim(9):
        ledger.complete(*held)
    assert ledger.one("select count(*) from emq.archive") == 40
