"""quarantine: a job that was lost too often goes on in another queue."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def test_a_job_lost_so_often_goes_on_in_the_quarantine_with_its_counts(ledger: Ledger) -> None:
    ledger.set_queue(quarantine="sick", quarantine_after=2, max_stalled=9)
    id = ledger.add_one()
    ledger.stall()
    assert ledger.place(id) == "pending"
    ledger.stall()
    assert ledger.claim() == []
    held = ledger.take("sick")
    assert (held.id, held.stalled, held.attempts) == (id, 2, 3)
    assert ledger.complete(held) == ["done"]
    assert ledger.column("select queue from emq.attempt order by ended_at") == ["default"] * 2


def test_it_is_after_two_when_the_queue_does_not_say(ledger: Ledger) -> None:
    ledger.set_queue(quarantine="sick")
    ledger.add_one()
    ledger.stall()
    ledger.stall()
    assert ledger.take("sick").stalled == 2


def test_failures_do_not_lead_there(ledger: Ledger) -> None:
    ledger.set_queue(quarantine="sick", quarantine_after=1)
    ledger.add_one()
    for _ in range(3):
        assert ledger.retry(ledger.take()) == ["pending"]
    assert ledger.claim(1, "sick") == []


def test_there_the_budget_is_the_quarantines_own(ledger: Ledger) -> None:
    ledger.set_queue(quarantine="sick", quarantine_after=1, max_stalled=9)
    ledger.set_queue("sick", max_stalled=2)
    id = ledger.add_one()
    ledger.stall()
    ledger.stall("sick")
    assert ledger.row("select id, queue, stalled from emq.dead") == (id, "sick", 2)


def test_an_operator_finds_it_where_it_waits(ledger: Ledger) -> None:
    ledger.set_queue(quarantine="sick", quarantine_after=1)
    id = ledger.add_one()
    ledger.stall()
    assert ledger.row("select place, queue from emq.place(%s)", id) == ("pending", "sick")
    assert ledger.operate("cancel", id) == "done"
    assert ledger.place(id) == "cancelled"
