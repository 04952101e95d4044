"""check_stalled: the same sweep, for one queue and with a given threshold."""

from __future__ import annotations

from tests.protocol.calls import Ledger

CALL = "select recovered, dead from emq.check_stalled(%s, %s, %s)"


def test_the_ids_put_back_are_answered(ledger: Ledger) -> None:
    held = ledger.abandoned("q")
    assert ledger.row(CALL, "q", 2, 10) == ([held.id], [])
    assert ledger.row(CALL, "q", 2, 10) == ([], [])


def test_the_threshold_given_decides_and_not_the_queues(ledger: Ledger) -> None:
    held = ledger.abandoned("q")
    assert ledger.row(CALL, "q", 1, 10) == ([], [held.id])
    assert ledger.one("select reason from emq.dead where id = %s", held.id) == "stalled"


def test_without_a_threshold_the_queues_decides(ledger: Ledger) -> None:
    ledger.rows("select emq.configure('q', p_max_stalled => 1)")
    held = ledger.abandoned("q")
    assert ledger.row(CALL, "q", None, 10) == ([], [held.id])


def test_other_queues_are_left(ledger: Ledger) -> None:
    other = ledger.abandoned("other")
    assert ledger.row(CALL, "q", 1, 10) == ([], [])
    assert ledger.outcome(other) == "yours"
    assert ledger.row(CALL, "other", None, 10) == ([other.id], [])


def test_no_more_than_the_limit_is_taken(ledger: Ledger) -> None:
    ledger.add(2, "q")
    ledger.expire(*ledger.claim(2, "q", lease="1 ms"))
    recovered, dead = ledger.row(CALL, "q", 2, 1)
    assert (len(recovered), dead) == (1, [])


def test_without_a_queue_nothing_is_taken(ledger: Ledger) -> None:
    held = ledger.abandoned("q")
    recovered, dead = ledger.row(CALL, None, 1, 10)
    assert not recovered
    assert not dead
    assert ledger.outcome(held) == "yours"
