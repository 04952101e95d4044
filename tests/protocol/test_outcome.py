"""outcome: what became of a job under a fence."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def test_every_answer_has_its_case(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.outcome(held) == "yours"
    assert ledger.outcome(held.stale) == "superseded"
    ledger.release(held)
    assert ledger.outcome(held) == "superseded"
    again = ledger.take()
    ledger.complete(again)
    assert ledger.outcome(again) == "completed"
    assert ledger.outcome(held) == "superseded"


def test_a_dead_a_cancelled_and_a_discarded_job_say_so_under_any_fence(ledger: Ledger) -> None:
    ledger.add_one(max_attempts=1)
    held = ledger.take()
    ledger.retry(held)
    assert ledger.outcome(held) == ledger.outcome(held.stale) == "dead"
    ledger.operate("discard", held.id)
    assert ledger.outcome(held) == ledger.outcome(held.stale) == "discarded"
    cancelled = ledger.start()
    ledger.operate("cancel", cancelled.id)
    assert ledger.outcome(cancelled) == "cancelled"


def test_an_id_that_never_was_is_unknown(ledger: Ledger) -> None:
    assert ledger.outcome((ledger.one("select emq.uuid7()"), 1)) == "unknown"
    assert ledger.outcome((ledger.one("select gen_random_uuid()"), 1)) == "unknown"


def test_a_waiting_job_is_nobodys(ledger: Ledger) -> None:
    id = ledger.add_one()
    assert ledger.outcome((id, 1 << 40)) == "superseded"
