"""REPEATABLE READ: what an old snapshot may and may not do."""

from __future__ import annotations

from tests.protocol.calls import Ledger, refused


def old_snapshot(other: Ledger) -> None:
    other.run("set transaction isolation level repeatable read")
    other.rows("select 1 from pg_class limit 1")


def test_a_repeat_is_a_duplicate_however_old_the_snapshot(ledger: Ledger, other: Ledger) -> None:
    id = ledger.add_one()
    old_snapshot(other)
    ledger.complete(ledger.take())
    assert other.status(id) == "duplicate"


def test_an_id_born_after_the_snapshot_is_not_enqueued_a_second_time(
    ledger: Ledger, other: Ledger
) -> None:
    old_snapshot(other)
    held = ledger.start()
    ledger.complete(held)
    with refused("40001"):
        other.status(held.id)


def test_a_guard_holds_though_the_lease_was_extended_since_the_snapshot(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    old_snapshot(other)
    assert ledger.extend(held, lease="60 s") == ["done"]
    other.guard(held)
    assert ledger.extend(held, lease="90 s") == ["done"]
    assert ledger.complete(held) == ["busy"]
    other.conn.commit()


def test_a_guard_of_a_job_that_was_reaped_since_the_snapshot_raises(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.abandoned()
    old_snapshot(other)
    assert ledger.reap() == (1, 0, 0)
    with refused("40001"):
        other.guard(held)


def test_a_claim_never_takes_a_job_that_another_took_since_the_snapshot(
    ledger: Ledger, other: Ledger
) -> None:
    ledger.add()
    old_snapshot(other)
    ledger.take()
    with refused("40001"):
        other.claim(5)


def test_maintain_reaps_under_an_old_snapshot_and_leaves_the_floors(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.abandoned()
    newest = ledger.one("select max(n) from emq.settled")
    old_snapshot(other)
    assert other.row("select ran, recovered from emq.maintain()") == (True, 1)
    other.conn.commit()
    assert ledger.one("select max(n) from emq.settled") == newest
    assert ledger.place(held.id) == "pending"


def test_retire_refuses_an_old_snapshot_and_says_why(ledger: Ledger, other: Ledger) -> None:
    old_snapshot(other)
    with refused("25001", hint="transaction of its own"):
        other.retire("2026-01-01")
