"""stall: the holder knows that the process which ran the job has died."""

from __future__ import annotations

import pytest

from emq_sql.minting import new_id
from tests.protocol.calls import Ledger


def counts(ledger: Ledger, table: str, id: object) -> object:
    return ledger.row(f"select attempts, stalled, failures from emq.{table} where id = %s", id)


def test_the_job_goes_to_the_head_of_its_level_and_counts_a_lost_lease(ledger: Ledger) -> None:
    first = ledger.start()
    fresh = ledger.add_one()
    assert ledger.stall_at_once(first, error="ended by SIGKILL") == ["pending"]
    assert counts(ledger, "pending", first.id) == (1, 1, 0)
    assert [held.id for held in ledger.claim(2)] == [first.id, fresh]


def test_how_the_process_died_is_in_the_story_of_the_job(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.stall_at_once(held, error="ended by SIGKILL")
    row = ledger.row("select id, fence, how, error, worker from emq.attempt")
    assert row == (held.id, held.fence, "stalled", "ended by SIGKILL", "w1")


def test_max_stalled_limits_it_like_leases_that_ended(ledger: Ledger) -> None:
    ledger.rows("select emq.configure('default', p_max_stalled => 2)")
    held = ledger.start()
    assert ledger.stall_at_once(held) == ["pending"]
    held = ledger.take()
    assert ledger.stall_at_once(held, error="again") == ["dead"]
    assert counts(ledger, "dead", held.id) == (2, 2, 0)
    assert ledger.row("select reason, error, fence from emq.dead") == (
        "stalled", "again", held.fence,
    )  # fmt: skip


@pytest.mark.parametrize("budget", [1, 2])
def test_max_attempts_limits_failures_and_lost_leases_together(ledger: Ledger, budget: int) -> None:
    ledger.add_one(max_attempts=budget)
    held = ledger.take()
    if budget == 2:
        assert ledger.retry(held) == ["pending"]
        held = ledger.take()
    assert ledger.stall_at_once(held) == ["dead"]
    assert counts(ledger, "dead", held.id) == (budget, 1, budget - 1)


def test_without_a_setting_the_third_is_the_last_as_for_the_reaper(ledger: Ledger) -> None:
    ledger.add_one()
    answers = [ledger.stall_at_once(ledger.take()) for _ in range(3)]
    assert answers == [["pending"], ["pending"], ["dead"]]


def test_the_own_lease_of_a_job_is_kept(ledger: Ledger) -> None:
    ledger.add_one(lease="7 s")
    ledger.stall_at_once(ledger.take())
    assert ledger.take().lease_ms == 7000


def test_a_stale_fence_changes_nothing_and_is_recorded(ledger: Ledger) -> None:
    stale = ledger.start()
    ledger.release(stale)
    held = ledger.take()
    assert ledger.stall_at_once(stale) == ["lost"]
    assert ledger.place(held.id) == "active"
    assert ledger.stall_at_once(stale, held, (new_id(), 1)) == ["lost", "pending", "lost"]
    assert ledger.one("select count(*) from emq.refusal where verb = 'stall'") == 3


def test_it_never_waits_for_an_open_transaction(ledger: Ledger, other: Ledger) -> None:
    first, second = ledger.start(), ledger.start()
    other.complete(first)
    assert ledger.stall_at_once(first, second) == ["busy", "pending"]
    other.conn.commit()
    assert ledger.stall_at_once(first) == ["lost"]


def test_none_is_none(ledger: Ledger) -> None:
    assert ledger.stall_at_once() == []
