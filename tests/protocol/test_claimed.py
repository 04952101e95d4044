"""claimed: reads back a claim whose reply was lost."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def test_the_nonce_names_what_its_claim_holds(ledger: Ledger) -> None:
    ledger.add(3, "q")
    first = ledger.claim(2, "q", nonce=4711)
    second = ledger.claim(1, "q", nonce=4712)
    assert ledger.claimed(4711) == sorted(first, key=lambda held: held.id)
    assert ledger.claimed(4712) == second
    assert ledger.claimed(4713) == []


def test_the_queue_is_answered_too(ledger: Ledger) -> None:
    ledger.start("q", nonce=5)
    assert ledger.column("select queue from emq.claimed(5)") == ["q"]


def test_forty_bits_of_the_nonce_count_as_in_claim(ledger: Ledger) -> None:
    held = ledger.start(nonce=(9 << 40) + 5)
    assert ledger.claimed(5) == ledger.claimed((3 << 40) + 5) == [held]


def test_what_was_given_back_or_done_is_not_named(ledger: Ledger) -> None:
    ledger.add(3)
    a, b, c = ledger.claim(3, nonce=5)
    ledger.complete(a)
    ledger.release(b)
    assert ledger.claimed(5) == [c]


def test_floors_that_rise_hide_nothing(ledger: Ledger) -> None:
    held = ledger.start(nonce=5)
    floor = "(select reap_from from emq.settled order by n desc limit 1)"

    def risen() -> bool:
        ledger.complete(ledger.start())
        ledger.maintain()
        return bool(ledger.one(f"select {floor} > '-infinity'"))

    ledger.until(risen, "the floor of reap rises")
    assert ledger.claimed(5) == [held]


def test_a_claim_that_was_rolled_back_is_not_named(ledger: Ledger, other: Ledger) -> None:
    ledger.add()
    other.claim(1, nonce=5)
    assert ledger.claimed(5) == []
    other.conn.rollback()
    assert ledger.claimed(5) == []
