"""cancel, replay and discard: what an operator may do with a job, wherever it is."""

from __future__ import annotations

import pytest

from tests.protocol.calls import Held, Ledger, refused


def dead_job(ledger: Ledger, queue: str = "default") -> Held:
    ledger.add_one(queue, max_attempts=1)
    held = ledger.take(queue)
    assert ledger.retry(held, error="boom") == ["dead"]
    return held


def test_a_waiting_or_scheduled_job_is_cancelled(ledger: Ledger) -> None:
    waiting, scheduled, stays = (
        ledger.add_one(),
        ledger.add_one(delay="1 h", priority=4),
        ledger.add_one(),
    )
    for id in (waiting, scheduled):
        assert ledger.operate("cancel", id) == "done"
        assert ledger.operate("cancel", id) == "lost"
        assert ledger.place(id) == ledger.outcome((id, 1)) == "cancelled"
        assert ledger.status(id) == "duplicate"
    assert [held.id for held in ledger.claim(9)] == [stays]


@pytest.mark.parametrize("priority", range(5))
def test_a_recovered_job_is_found_in_its_level(ledger: Ledger, priority: int) -> None:
    id = ledger.add_one(priority=priority)
    ledger.release(ledger.take())
    assert ledger.operate("cancel", id) == "done"


def test_cancelling_a_running_job_ends_its_fence(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.extend(held)
    assert ledger.operate("cancel", held.id) == "done"
    with refused("EQ001"):
        ledger.guard(held)
    for verb in (ledger.complete, ledger.complete, ledger.retry, ledger.extend):
        assert verb(held) == ["lost"]
    assert ledger.one("select count(*) from emq.refusal where id = %s", held.id) == 4
    assert ledger.outcome(held) == "cancelled"


def test_a_cancelled_row_does_not_carry_the_fence_that_it_ended(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.operate("cancel", held.id)
    assert ledger.row("select status, fence, worker from emq.archive") == ("cancelled", None, "w1")
    assert ledger.row("select how, fence from emq.attempt") == ("cancelled", held.fence)


def test_a_job_under_a_guard_is_busy(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    other.guard(held)
    assert ledger.operate("cancel", held.id) == "busy"
    other.conn.rollback()
    assert ledger.operate("cancel", held.id) == "done"


def test_a_job_that_is_being_claimed_is_busy(ledger: Ledger, other: Ledger) -> None:
    id = ledger.add_one()
    other.take()
    assert ledger.operate("cancel", id) == "busy"
    other.conn.commit()
    assert ledger.operate("cancel", id) == "done"


def test_a_cancel_in_an_open_transaction_is_busy_and_may_be_taken_back(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    assert other.operate("cancel", held.id) == "done"
    assert ledger.complete(held) == ["busy"]
    assert ledger.operate("cancel", held.id) == "busy"
    other.conn.rollback()
    assert ledger.complete(held) == ["done"]


def test_what_has_ended_is_dead_or_was_never_there_cannot_be_cancelled(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.complete(held)
    for id in (held.id, dead_job(ledger).id, ledger.one("select emq.uuid7()")):
        assert ledger.operate("cancel", id) == "lost"
    assert ledger.outcome(held) == "completed"


def test_replay_keeps_the_id_and_the_attempts_and_gives_a_fresh_budget(ledger: Ledger) -> None:
    ledger.add_one(max_attempts=2)
    fences = []
    for turn in range(3):
        for place in ("pending", "dead"):
            held = ledger.take()
            fences.append(held.fence)
            assert held.attempts == len(fences)
            assert (held.stalled, held.failures) == (0, len(fences) - 1 - 2 * turn)
            assert ledger.retry(held) == [place]
        assert ledger.operate("replay", held.id) == "done"
        assert ledger.operate("replay", held.id) == "lost"
    last = ledger.take()
    assert fences == sorted(set(fences))
    assert last.fence > fences[-1]
    assert ledger.complete(*[(last.id, fence) for fence in fences]) == ["lost"] * 6
    assert ledger.extend(*[(last.id, fence) for fence in fences]) == ["lost"] * 6
    assert ledger.complete(last) == ["done"]
    assert ledger.status(last.id) == "duplicate"


def test_who_held_a_job_before_it_died_is_refused_though_the_nonce_comes_again(
    ledger: Ledger,
) -> None:
    first = ledger.abandoned(nonce=9)
    ledger.rows("select emq.check_stalled('default', 1)")
    assert ledger.operate("replay", first.id) == "done"
    second = ledger.take(nonce=9)
    assert second.fence > first.fence
    assert ledger.complete(first) == ["lost"]
    with refused("EQ001"):
        ledger.guard(first)
    assert ledger.outcome(first) == "superseded"
    assert ledger.complete(second) == ["done"]


def test_a_replayed_job_joins_the_tail_of_its_level(ledger: Ledger) -> None:
    held = dead_job(ledger)
    fresh = ledger.add_one()
    ledger.operate("replay", held.id)
    assert [one.id for one in ledger.claim(5)] == [fresh, held.id]


def test_discard_gives_a_dead_job_up_for_good(ledger: Ledger) -> None:
    held = dead_job(ledger)
    assert ledger.operate("discard", held.id) == "done"
    assert ledger.operate("discard", held.id) == "lost"
    assert ledger.operate("replay", held.id) == "lost"
    assert ledger.outcome(held) == ledger.place(held.id) == "discarded"
    assert ledger.complete(held) == ["lost"]
    assert ledger.status(held.id) == "duplicate"


@pytest.mark.parametrize("verb", ["replay", "discard"])
def test_only_a_dead_job_is_replayed_or_discarded(ledger: Ledger, verb: str) -> None:
    held = ledger.start()
    for id in (held.id, ledger.add_one(), ledger.add_one(delay="1 h")):
        assert ledger.operate(verb, id) == "lost"


@pytest.mark.parametrize("verb", ["replay", "discard"])
def test_a_dead_letter_that_another_is_moving_is_busy(
    ledger: Ledger, other: Ledger, verb: str
) -> None:
    held = dead_job(ledger)
    assert other.operate("replay", held.id) == "done"
    assert ledger.operate(verb, held.id) == "busy"
    other.conn.rollback()
    assert ledger.operate(verb, held.id) == "done"
