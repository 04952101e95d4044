"""An extension that came too late, and was lucky, is put on record."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def test_an_extension_after_its_deadline_is_done_and_recorded(ledger: Ledger) -> None:
    held = ledger.abandoned()
    assert ledger.extend(held, lease="30 s") == ["done"]
    assert ledger.rows("select id, fence, lease_deadline from emq.late") == [
        (held.id, held.fence, held.lease_deadline)
    ]
    assert ledger.complete(held) == ["done"]


def test_one_in_time_and_one_that_is_refused_leave_no_record(ledger: Ledger) -> None:
    in_time, lost = ledger.start(), ledger.abandoned()
    ledger.reap()
    assert ledger.extend(in_time, lost) == ["done", "lost"]
    assert ledger.rows("select from emq.late") == []


def test_the_archive_keeps_the_last_deadline(ledger: Ledger) -> None:
    completed, cancelled, waiting = ledger.start(), ledger.start(), ledger.add_one()
    ledger.extend(completed, lease="90 s")
    deadlines = dict(ledger.rows("select id, lease_deadline from emq.active"))
    ledger.complete(completed)
    ledger.operate("cancel", cancelled.id)
    ledger.operate("cancel", waiting)
    assert dict(ledger.rows("select id, lease_deadline from emq.archive")) == deadlines | {
        waiting: None
    }
