"""extend: a lease moves forward, never back, for its holder only."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def deadline(ledger: Ledger, id: object) -> object:
    return ledger.one("select lease_deadline from emq.active where id = %s", id)


def test_the_deadline_moves_forward_by_the_lease_of_the_job(ledger: Ledger) -> None:
    held = ledger.start(lease="10 s")
    ledger.wait("clock_timestamp() > %s - interval '9.98 s'", held.lease_deadline)
    assert ledger.extend(held) == ["done"]
    assert ledger.one(
        "select lease_deadline > %s and lease_deadline <= clock_timestamp() + interval '10 s'"
        " and extensions = 1 from emq.active where id = %s", held.lease_deadline, held.id,
    )  # fmt: skip


def test_a_shorter_lease_never_moves_the_deadline_back(ledger: Ledger) -> None:
    held = ledger.start(lease="60 s")
    for lease in ("1 s", "0 s", "-1 h"):
        assert ledger.extend(held, lease=lease) == ["done"]
        assert deadline(ledger, held.id) == held.lease_deadline


def test_only_the_holder_extends(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.extend(held.stale) == ["lost"]
    assert ledger.one("select extensions from emq.active") == 0
    assert ledger.extend(held.stale, (held.id, 1), held) == ["lost", "lost", "done"]
    assert ledger.one("select extensions from emq.active") == 1


def test_an_expired_lease_that_was_not_reaped_may_be_extended(ledger: Ledger) -> None:
    held = ledger.abandoned()
    assert ledger.extend(held, lease="60 s") == ["done"]
    assert ledger.reap() == (0, 0, 0)
    assert ledger.outcome(held) == "yours"


def test_an_extend_in_an_open_transaction_is_busy_for_a_moment_and_then_done(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    assert other.extend(held, lease="120 s") == ["done"]
    assert ledger.complete(held) == ["busy"]
    other.conn.commit()
    assert ledger.complete(held) == ["done"]
