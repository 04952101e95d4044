"""promote: scheduled jobs that are due join the line."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def due(ledger: Ledger) -> None:
    ledger.wait("not exists (select from emq.scheduled where run_at > clock_timestamp())")


def test_a_job_waits_for_its_instant_and_not_longer(ledger: Ledger) -> None:
    id = ledger.add_one(delay="100 ms")
    assert ledger.promote() == 0
    assert ledger.claim(5) == []
    due(ledger)
    assert ledger.promote() == 1
    assert ledger.take().id == id


def test_a_delay_that_is_over_is_no_delay(ledger: Ledger) -> None:
    for named in ({"delay": "0 s"}, {"delay": "-1 h"}, {"run_at": "2020-01-01Z"}):
        ledger.add_one(expect="enqueued", **named)
    assert len(ledger.claim(5)) == 3


def test_an_instant_is_kept_as_given(ledger: Ledger) -> None:
    at = ledger.one("select date_trunc('second', clock_timestamp()) + interval '3 d'")
    id = ledger.add_one(run_at=at)
    assert ledger.row("select place, until from emq.place(%s)", id) == ("scheduled", at)


def test_due_jobs_join_in_the_order_of_their_instants(ledger: Ledger) -> None:
    ids = [ledger.add_one(delay=f"{ms} ms") for ms in (60, 20, 40)]
    due(ledger)
    assert ledger.promote() == 3
    assert [held.id for held in ledger.claim(5)] == [ids[1], ids[2], ids[0]]


def test_a_due_job_goes_to_the_tail_of_its_level(ledger: Ledger) -> None:
    later = ledger.add_one(delay="1 ms")
    urgent = ledger.add_one(delay="1 ms", priority=0)
    fresh = ledger.add_one()
    due(ledger)
    assert ledger.promote() == 2
    assert [held.id for held in ledger.claim(5)] == [urgent, fresh, later]


def test_no_more_than_the_limit_are_moved(ledger: Ledger) -> None:
    ledger.add(3, delay="1 ms")
    due(ledger)
    assert [ledger.promote(2), ledger.promote(2), ledger.promote(2)] == [2, 1, 0]


def test_two_at_once_move_each_job_once(ledger: Ledger, other: Ledger) -> None:
    ledger.add(2, delay="1 ms")
    due(ledger)
    assert other.promote(1) == 1
    assert ledger.promote() == 1
    other.conn.commit()
    assert len(ledger.claim(5)) == 2


def test_an_old_job_of_a_long_transaction_is_promoted_though_the_floor_has_risen(
    ledger: Ledger, other: Ledger
) -> None:
    slow = other.add_one(delay="1 ms")
    floor = "(select promote_from from emq.settled order by n desc limit 1)"
    for _ in range(5):
        ledger.maintain()
    other.conn.commit()
    ledger.until(lambda: ledger.maintain() and ledger.one(f"select {floor} > '-infinity'"), "risen")
    assert ledger.take().id == slow
