"""guard beside a transaction that may settle the job: it waits for that, and not for ever."""

from __future__ import annotations

import pytest

from tests.plugins.databases import Database
from tests.protocol.calls import Ledger, refused


def test_a_guard_beside_the_holders_own_open_settlement_does_not_wait_for_ever(
    ledger: Ledger, other: Ledger, db: Database
) -> None:
    """One thread has both transactions: nobody would ever end the one that it waits for."""
    held = ledger.start()
    other.complete(held)
    patient = Ledger(db.connect(options="-c statement_timeout=4s"))
    assert patient.one("show lock_timeout") == "0"
    with refused("55P03"):  # and not 57014
        patient.guard(held)


@pytest.mark.parametrize("usual", ["0", "7s", "1s"])
def test_after_a_guard_the_transaction_waits_for_locks_as_before(
    ledger: Ledger, other: Ledger, usual: str
) -> None:
    held = ledger.start()
    other.run(f"set lock_timeout = '{usual}'")
    other.guard(held)
    assert other.one("show lock_timeout") == usual


def test_a_shorter_wait_stays_short(ledger: Ledger, other: Ledger, db: Database) -> None:
    held = ledger.start()
    other.complete(held)
    hasty = Ledger(db.connect(autocommit=False))
    hasty.run("set lock_timeout = '50ms'")
    hasty.run("set statement_timeout = '1500ms'")
    with refused("55P03"):  # and not 57014
        hasty.guard(held)
