"""claim: pending jobs become leases, once each."""

from __future__ import annotations

import pytest

from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

NONCE_BITS = (1 << 40) - 1


def test_a_fence_is_the_attempt_and_the_nonce(ledger: Ledger) -> None:
    ledger.add(3)
    for held in ledger.claim(3, nonce=4711):
        assert (held.fence >> 40, held.fence & NONCE_BITS) == (held.attempts, 4711) == (1, 4711)


def test_only_forty_bits_of_a_nonce_count(ledger: Ledger) -> None:
    ledger.add()
    assert ledger.take(nonce=(3 << 40) + 5).fence == (1 << 40) | 5


def test_a_claim_answers_no_more_than_asked(ledger: Ledger) -> None:
    ids = ledger.add(5)
    assert [held.id for held in ledger.claim(2)] == ids[:2]
    assert [held.id for held in ledger.claim(9)] == ids[2:]
    assert ledger.claim(9) == []


@pytest.mark.parametrize("n", [None, 0, -1])
def test_a_claim_of_no_number_takes_nothing_and_not_the_whole_queue(
    ledger: Ledger, n: int | None
) -> None:
    ledger.add(3)
    assert ledger.claim(n) == []  # type: ignore[arg-type]
    assert len(ledger.claim(9)) == 3


def test_a_claim_of_one_queue_takes_nothing_of_another(ledger: Ledger) -> None:
    here, there = ledger.add_one("here"), ledger.add_one("there")
    assert [held.id for held in ledger.claim(9, "here")] == [here]
    assert [held.id for held in ledger.claim(9, "there")] == [there]


def test_two_claims_at_once_take_different_jobs_and_neither_waits(
    ledger: Ledger, other: Ledger
) -> None:
    first, second = ledger.add(2)
    assert other.take().id == first
    assert [held.id for held in ledger.claim(5)] == [second]
    other.conn.rollback()
    assert ledger.take().id == first


def test_a_claim_that_is_rolled_back_costs_nothing(ledger: Ledger, other: Ledger) -> None:
    id = ledger.add_one()
    other.take()
    other.conn.rollback()
    held = other.take()
    assert (held.id, held.attempts, held.stalled) == (id, 1, 0)
    other.conn.commit()


def test_the_lease_runs_by_the_servers_clock_and_not_by_the_transactions(
    ledger: Ledger, other: Ledger
) -> None:
    ledger.add()
    began = other.one("select now()")
    other.wait("clock_timestamp() > now() + interval '20 ms'")
    held = other.take(lease="1 s")
    ahead = other.one("select clock_timestamp() - %s + interval '1 s'", held.lease_deadline)
    assert held.lease_deadline > began + (held.lease_deadline - began) / 2
    assert ledger.one("select %s - %s > interval '1.02 s'", held.lease_deadline, began)
    assert ahead.total_seconds() >= 0
    other.conn.commit()


def test_the_ledger_says_who_holds_what_since_when_and_until_when(ledger: Ledger) -> None:
    held = ledger.start(worker="host:1:abc", lease="40 s")
    row = ledger.row(
        "select id, queue, task, worker, attempts, lease_deadline, lease_state,"
        " running_seconds >= 0, seconds_left between 1 and 40 from emq.ledger"
    )
    assert row == (
        held.id, "default", "t", "host:1:abc", 1, held.lease_deadline, "held", True, True,
    )  # fmt: skip


def test_attempts_only_grow(ledger: Ledger) -> None:
    ledger.add()
    fences = []
    for attempt in range(1, 5):
        held = ledger.take()
        assert held.attempts == attempt
        fences.append(held.fence)
        ledger.release(held)
    assert fences == sorted(set(fences))


def test_a_claimed_job_is_in_the_ledger_and_not_in_the_line(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.place(held.id) == "active"
    assert ledger.one("select count(*) from emq.pending") == 0


def test_a_session_whose_floors_are_up_still_finds_jobs_of_every_rank(ledger: Ledger) -> None:
    for _ in range(30):  # enough calls for the floors of this session to settle
        ledger.add(2)
        ledger.complete(*ledger.claim(10))
        ledger.maintain()
    ids = [ledger.add_one(priority=p) for p in range(5)]
    assert [held.id for held in ledger.claim(10)] == ids


def test_a_job_of_a_long_transaction_is_found_though_later_ones_were_claimed(
    ledger: Ledger, other: Ledger
) -> None:
    slow = other.add_one()
    for _ in range(20):
        ledger.add(2)
        ledger.complete(*ledger.claim(10))
        ledger.maintain()
    other.conn.commit()
    assert ledger.take().id == slow


def test_a_job_of_a_prepared_transaction_is_found(ledger: Ledger, db: Database) -> None:
    if ledger.one("show max_prepared_transactions") == "0":
        pytest.skip("this server allows no prepared transactions")
    two_phase = Ledger(db.connect(autocommit=False))
    slow = two_phase.add_one()
    two_phase.run("prepare transaction 'slow'")
    two_phase.conn.close()
    for _ in range(20):
        ledger.add(2)
        ledger.complete(*ledger.claim(10))
        ledger.maintain()
    ledger.run("commit prepared 'slow'")
    assert ledger.take().id == slow


def test_the_floors_start_afresh_when_the_line_was_truncated(ledger: Ledger) -> None:
    def rounds() -> bool:
        ledger.add(2)
        ledger.complete(*ledger.claim(10))
        floors = ledger.one("select current_setting('emq.f' || encode('default', 'hex'))")
        return int(floors.split(":")[4 + 5]) > 2  # where fresh jobs of the usual priority stand

    ledger.until(rounds, "the floor has risen")
    ledger.run("truncate emq.pending")
    ledger.run("alter sequence emq.ord_seq restart")
    id = ledger.add_one()
    assert ledger.take().id == id
