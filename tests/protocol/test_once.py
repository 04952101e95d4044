"""once: how long it waits for another transaction's key, and what it leaves behind."""

from __future__ import annotations

import pytest

from tests.plugins.databases import Database
from tests.protocol.calls import Held, Ledger, refused


def once(ledger: Ledger, held: Held, key: str = "k") -> bool:
    return bool(ledger.one("select emq.once(%s, %s, %s)", key, held.id, held.fence))


def test_a_shorter_wait_of_the_callers_stays_short(
    ledger: Ledger, other: Ledger, db: Database
) -> None:
    held = ledger.start()
    assert once(other, held)
    hasty = Ledger(db.connect(autocommit=False))
    hasty.run("set lock_timeout = '50ms'")
    hasty.run("set statement_timeout = '3s'")
    with refused("55P03"):  # and not 57014
        once(hasty, held)


def test_it_does_not_wait_for_ever(ledger: Ledger, other: Ledger, db: Database) -> None:
    held = ledger.start()
    assert once(other, held)
    patient = Ledger(db.connect(options="-c statement_timeout=12s"))
    assert patient.one("show lock_timeout") == "0"
    with refused("55P03"):  # and not 57014
        once(patient, held)


@pytest.mark.parametrize("usual", ["0", "7s", "1s"])
def test_after_it_the_transaction_waits_for_locks_as_before(
    ledger: Ledger, other: Ledger, usual: str
) -> None:
    held = ledger.start()
    other.run(f"set lock_timeout = '{usual}'")
    assert [once(other, held), once(other, held)] == [True, False]
    assert other.one("show lock_timeout") == usual
