"""keep: one statement extends the leases and brings back what operators want."""

from __future__ import annotations

from emq_sql.minting import new_id
from tests.protocol.calls import Ledger


def deadline(ledger: Ledger, id: object) -> object:
    return ledger.one("select lease_deadline from emq.active where id = %s", id)


def test_a_lease_is_extended_as_by_extend(ledger: Ledger) -> None:
    held = ledger.start(lease="10 s")
    before = deadline(ledger, held.id)
    assert ledger.keep(held, lease="1 h") == (["done"], [])
    assert ledger.one("select %s + interval '50 minutes' < %s", before, deadline(ledger, held.id))
    assert ledger.one("select extensions from emq.active") == 1


def test_a_job_that_an_operator_cancelled_is_told_from_one_that_is_lost(ledger: Ledger) -> None:
    lost, cancelled, mine = (ledger.start(), ledger.start(), ledger.start())
    ledger.release(lost)
    again = ledger.take()
    ledger.operate("cancel", cancelled.id)
    answers, _ = ledger.keep(lost, cancelled, mine, again, (new_id(), 1))
    assert answers == ["lost", "cancelled", "done", "done", "lost"]


def test_a_completed_or_discarded_job_is_lost_and_not_cancelled(ledger: Ledger) -> None:
    completed = ledger.start()
    ledger.complete(completed)
    ledger.add_one(max_attempts=1)
    discarded = ledger.take()
    ledger.retry(discarded)
    ledger.operate("discard", discarded.id)
    assert ledger.keep(completed, discarded)[0] == ["lost", "lost"]


def test_the_extension_of_a_cancelled_job_stays_on_record(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.operate("cancel", held.id)
    ledger.keep(held)
    assert ledger.rows("select fence, held, verb from emq.refusal") == [
        (held.fence, None, "extend")
    ]


def test_paused_queues_come_with_the_answers_and_resumed_ones_do_not(ledger: Ledger) -> None:
    held = ledger.start()
    for queue in ("a", "b"):
        ledger.rows("select emq.pause(%s)", queue)
    ledger.rows("select emq.resume('b')")
    assert ledger.keep(held, queues=["default", "b", "a", "new"]) == (["done"], ["a"])
    assert ledger.keep(held, queues=["b", "default"]) == (["done"], [])


def test_without_leases_it_still_says_what_is_paused(ledger: Ledger) -> None:
    ledger.rows("select emq.pause('a')")
    assert ledger.keep(queues=["a"]) == ([], ["a"])
    assert ledger.keep() == ([], [])


def test_a_row_in_an_open_transaction_is_busy_and_delays_no_other(
    ledger: Ledger, other: Ledger
) -> None:
    first, second = ledger.start(), ledger.start()
    other.complete(first)
    assert ledger.keep(first, second)[0] == ["busy", "done"]
    other.conn.rollback()
    assert ledger.keep(first, second)[0] == ["done", "done"]


def test_no_job_is_recorded_as_refused_while_its_cancel_is_not_committed(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    other.operate("cancel", held.id)
    assert ledger.keep(held)[0] == ["busy"]
    assert ledger.one("select count(*) from emq.refusal") == 0
