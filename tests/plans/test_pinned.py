"""An idle snapshot pins dead rows; what a call touches must not grow with them."""

from __future__ import annotations

import pytest

from emq_sql.minting import new_id
from tests.plans.plans import HOT, watching
from tests.protocol.calls import Ledger

ROUNDS, BATCH = 40, 500
DEAD = ROUNDS * BATCH
# A call that walked the dead rows would touch every page that they are on: some 180 in pending
# and 400 in active, with their indexes.
BOUND = 100


@pytest.fixture
def pinned(ledger: Ledger, other: Ledger) -> Ledger:
    """A session that has claimed and completed thousands of jobs under an old snapshot."""
    other.run("set transaction isolation level repeatable read")
    other.rows("select 1 from pg_class limit 1")
    for turn in range(ROUNDS):
        ledger.add_many([new_id() for _ in range(BATCH)])
        ledger.complete(*ledger.claim(BATCH, lease="1 s"))
        if turn % 10 == 0:
            ledger.maintain()
            ledger.promote()
    ledger.until(
        lambda: (
            ledger.maintain()
            and ledger.one(
                "select reap_from > (select max(lease_deadline) from emq.archive)"
                " from emq.settled order by n desc limit 1"
            )
        ),
        "the floor of reap has passed the deadlines of all jobs that are done",
    )
    for table in sorted(HOT):
        ledger.run(f"vacuum analyze emq.{table}")
    # This session's own floors may lie far back: a transaction that was open meanwhile, anywhere on
    # the server, has kept them. A claim of a batch takes the published ones.
    assert ledger.claim(10) == []
    assert ledger.one("select pg_relation_size('emq.pending')") > 150 * 8192
    return ledger


def test_no_verb_walks_the_dead_rows_that_a_snapshot_pins(pinned: Ledger) -> None:
    pinned.add(3)
    pinned.claim(3)
    pinned.add(3)
    with watching(pinned) as watch:
        a, b, c = pinned.claim(3, lease="1 ms")
        pinned.extend(c, lease="60 s")
        pinned.complete(a)
        pinned.expire(b)
        pinned.claimed(7)
        pinned.guard(c)
    assert watch.most_pages() < BOUND
    assert watch.unsafe() == []


def test_neither_reap_nor_maintain_walks_them(pinned: Ledger) -> None:
    held = pinned.abandoned()
    with watching(pinned) as watch:
        assert pinned.reap() == (1, 0, 0)
        pinned.promote()
        pinned.maintain()
    assert watch.most_pages() < BOUND
    assert pinned.place(held.id) == "pending"


def test_reap_does_not_walk_the_leases_that_run(ledger: Ledger) -> None:
    """The clock is a bound of the index scan, not a filter of what it finds."""
    ledger.add_many([new_id() for _ in range(1000)])
    held = ledger.claim(1000)
    ledger.abandoned()
    with watching(ledger) as watch:
        assert ledger.reap() == (1, 0, 0)
    assert watch.rows_passed_over() == 0
    assert len(held) == 1000
