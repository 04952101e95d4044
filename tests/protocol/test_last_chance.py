"""last_chance: which held jobs would be dead letters if they were lost once more."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from tests.protocol.calls import Held, Ledger


def last_chance(ledger: Ledger, held: Sequence[Held]) -> list[UUID]:
    found: list[UUID] = ledger.one(
        "select emq.last_chance(%s::uuid[], %s::bigint[])",
        [one.id for one in held], [one.fence for one in held],
    )  # fmt: skip
    return found


def test_it_is_the_claim_after_the_last_lost_lease_but_one(ledger: Ledger) -> None:
    ledger.add_one()
    said = []
    for _ in range(3):
        held = ledger.take(lease="1 ms")
        said.append(last_chance(ledger, [held]) == [held.id])
        ledger.expire(held)
        ledger.reap()
    assert said == [False, False, True]
    assert ledger.place(held.id) == "dead"


def test_failures_bring_it_nearer_only_once_a_lease_was_lost(ledger: Ledger) -> None:
    ledger.add_one(max_attempts=2)
    ledger.retry(ledger.take())
    failed = ledger.take()
    assert last_chance(ledger, [failed]) == []
    ledger.retry(failed)
    ledger.add_one(max_attempts=2)
    ledger.stall()
    lost = ledger.take()
    assert last_chance(ledger, [lost]) == [lost.id]


def test_the_queue_says_how_many_may_be_lost(ledger: Ledger) -> None:
    ledger.set_queue(max_stalled=5)
    ledger.add_one()
    ledger.stall()
    ledger.stall()
    assert last_chance(ledger, [ledger.take()]) == []


def test_of_a_stale_fence_it_says_nothing(ledger: Ledger) -> None:
    ledger.set_queue(max_stalled=2)
    ledger.add_one()
    ledger.stall()
    held = ledger.take(lease="1 ms")
    assert last_chance(ledger, [held]) == [held.id]
    ledger.release(held)
    newer = ledger.take(nonce=8)
    assert last_chance(ledger, [held, newer]) == [newer.id]
