"""maintain_due: any number of workers make one pass of upkeep a second together."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def due(ledger: Ledger, every: str) -> bool:
    return bool(ledger.one("select ran from emq.maintain_due(%s::interval)", every))


def test_a_pass_is_made_when_the_last_one_is_old_enough(ledger: Ledger) -> None:
    assert due(ledger, "0 s")
    assert not due(ledger, "1 h")
    assert due(ledger, "0 s")


def test_the_first_pass_of_a_ledger_waits_for_nothing(ledger: Ledger) -> None:
    assert due(ledger, "1 h")


def test_what_a_pass_did_is_answered(ledger: Ledger) -> None:
    ledger.abandoned()
    assert ledger.row("select * from emq.maintain_due('0 s')") == (True, 0, 1, 0)
    assert ledger.row("select ran, recovered from emq.maintain_due('1 h')") == (False, None)


def test_a_pass_by_maintain_itself_counts_too(ledger: Ledger) -> None:
    ledger.maintain()
    assert not due(ledger, "1 h")


def test_an_instant_ahead_of_the_clock_holds_nobody_up(ledger: Ledger) -> None:
    ledger.maintain()
    ledger.run("update emq.settled set at = clock_timestamp() + interval '1 day'")
    assert due(ledger, "1 h")


def test_an_empty_register_holds_nobody_up(ledger: Ledger) -> None:
    ledger.maintain()
    ledger.run("delete from emq.settled")
    assert due(ledger, "1 h")


def test_it_does_not_wait_for_a_pass_that_runs(ledger: Ledger, other: Ledger) -> None:
    assert other.maintain()
    assert not due(ledger, "0 s")
