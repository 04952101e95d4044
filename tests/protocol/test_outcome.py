"""outcome: what became of a job under a fence."""

from __future__ import annotations

from typing import cast

import pytest

from tests.protocol.calls import Held, Ledger


def test_every_answer_has_its_case(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.outcome(held) == "yours"
    assert ledger.outcome(held.stale) == "superseded"
    ledger.release(held)
    assert ledger.outcome(held) == "superseded"
    again = ledger.take()
    ledger.complete(again)
    assert ledger.outcome(again) == "completed"
    assert ledger.outcome(again.stale) == "superseded"


@pytest.mark.parametrize("verb", ["retry", "snooze"])
def test_who_gave_a_job_back_is_told_so_whoever_has_it_since(ledger: Ledger, verb: str) -> None:
    held = ledger.start()
    if verb == "snooze":
        ledger.snooze(held, delay="0")
    else:
        getattr(ledger, verb)(held)
    assert ledger.outcome(held) == "handed back"
    again = ledger.take()
    assert again.id == held.id
    assert ledger.outcome(held) == "handed back"
    ledger.complete(again)
    assert ledger.outcome(held) == "handed back"


@pytest.mark.parametrize("how", ["reap", "release", "timeout", "release_worker"])
def test_who_lost_a_job_is_not_told_that_he_gave_it_back(ledger: Ledger, how: str) -> None:
    """Else a transaction of his that was not committed would seem to be."""
    held = ledger.abandoned()
    if how == "reap":
        ledger.reap()
    elif how == "release":
        ledger.release(held)
    elif how == "timeout":
        query = "select emq.fail(array[%s], array[%s::bigint], array['timeout'])"
        assert ledger.one(query, held.id, held.fence) == ["pending"]
    else:
        ledger.rows("select * from emq.release_worker('w1')")
    assert ledger.outcome(held) == "superseded"


def test_an_outcome_is_busy_until_the_transaction_that_settles_the_job_is_over(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    other.complete(held)
    assert (ledger.outcome(held), decided(ledger, held)) == ("yours", "busy")
    other.conn.rollback()
    assert decided(ledger, held) == "yours"
    other.complete(held)
    other.conn.commit()
    assert decided(ledger, held) == "completed"


def test_a_guard_settles_nothing_and_is_not_waited_for(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    other.guard(held)
    assert decided(ledger, held) == "yours"


def decided(ledger: Ledger, held: Held) -> str:
    return cast(str, ledger.one("select emq.decided(%s, %s)", held.id, held.fence))


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
