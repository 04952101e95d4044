"""guard: in the holder's own transaction, ownership cannot change before its commit."""

from __future__ import annotations

from tests.plugins.databases import Database
from tests.protocol.calls import Ledger, refused


def test_a_stale_fence_cannot_go_on(ledger: Ledger) -> None:
    held = ledger.start()
    with refused("EQ001", hint="roll back", names=held.id):
        ledger.guard(held.stale)
    ledger.guard(held)


def test_a_holder_that_was_reaped_or_cancelled_cannot_go_on(ledger: Ledger) -> None:
    reaped = ledger.abandoned()
    ledger.reap()
    cancelled = ledger.start("c")
    ledger.operate("cancel", cancelled.id)
    for held in (reaped, cancelled):
        with refused("EQ001"):
            ledger.guard(held)
    with refused("EQ001", hint="be committed for it", names="cancelled by an operator"):
        ledger.guard(cancelled)


def test_an_extension_passes_a_guard(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    other.guard(held)
    assert ledger.extend(held, lease="90 s") == ["done"]
    other.guard(held)
    other.conn.commit()
    assert ledger.complete(held) == ["done"]


def test_a_reap_steps_over_a_guard(ledger: Ledger, other: Ledger) -> None:
    held = ledger.abandoned()
    other.guard(held)
    assert ledger.reap() == (0, 0, 0)
    other.conn.commit()
    assert ledger.reap() == (1, 0, 0)


def test_claims_go_on_beside_a_guard(ledger: Ledger, other: Ledger) -> None:
    other.guard(ledger.start())
    assert ledger.start() is not None


def test_every_other_verb_is_busy_under_a_guard_and_a_stale_one_is_lost(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    other.guard(held)
    assert ledger.complete(held, held.stale) == ["busy", "lost"]
    assert ledger.operate("cancel", held.id) == "busy"
    other.conn.commit()
    assert ledger.complete(held) == ["done"]


def test_two_guards_of_one_job_do_not_wait_for_each_other(db: Database, ledger: Ledger) -> None:
    held = ledger.start()
    sessions = [Ledger(db.connect(autocommit=False, options="-c lock_timeout=3s")) for _ in "ab"]
    for session in sessions:
        session.guard(held)
    for session in sessions:
        session.conn.commit()


def test_the_guard_is_held_to_the_end_of_the_transaction_and_no_longer(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    other.guard(held)
    other.run("savepoint s")
    assert ledger.complete(held) == ["busy"]
    other.conn.rollback()
    assert ledger.complete(held) == ["done"]
