"""claim_any: claim, from several queues in one statement."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def test_the_queues_are_served_in_the_order_given(ledger: Ledger) -> None:
    for queue in ("a", "b"):
        ledger.add(2, queue)
    assert [queue for _, queue in ledger.claim_any(3, "b", "none", "a")] == ["b", "b", "a"]


def test_n_limits_all_queues_together(ledger: Ledger) -> None:
    for queue in ("a", "b", "c"):
        ledger.add(2, queue)
    assert len(ledger.claim_any(3, "a", "b", "c")) == 3
    assert len(ledger.claim_any(9, "a", "b", "c")) == 3
    assert ledger.claim_any(1, "a", "b", "c") == []


def test_a_paused_queue_gives_nothing(ledger: Ledger) -> None:
    for queue in ("a", "b"):
        ledger.add(1, queue)
    ledger.rows("select emq.pause('a')")
    assert [queue for _, queue in ledger.claim_any(2, "a", "b")] == ["b"]


def test_one_nonce_reads_back_the_whole_call(ledger: Ledger) -> None:
    for queue in ("a", "b"):
        ledger.add(1, queue)
    claimed = ledger.claim_any(2, "b", "a", nonce=4711)
    assert sorted(claimed, key=lambda one: one[0].id) == [
        (held, ledger.one("select queue from emq.active where id = %s", held.id))
        for held in ledger.claimed(4711)
    ]


def test_none_and_no_queue_are_nothing(ledger: Ledger) -> None:
    ledger.add(1, "a")
    assert ledger.claim_any(0, "a") == ledger.claim_any(5) == []
    assert ledger.one("select count(*) from emq.claim_any(array['a'], null, 'w', 1)") == 0
