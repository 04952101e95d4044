"""Batch: many jobs are claimed in one call, and each is settled for itself."""

from __future__ import annotations

from tests.conformance.client import Client
from tests.protocol.calls import Ledger


def test_batch_claim_takes_the_oldest_in_order_each_at_attempt_one(
    client: Client, ledger: Ledger
) -> None:
    ids = client.add(8)
    held = client.claim(4, lease=60)
    assert [(one.id, one.attempts) for one in held] == [(id, 1) for id in ids[:4]]
    assert len({one.fence for one in held}) == 1
    assert ledger.column("select lease_ms from emq.active") == [60_000] * 4


def test_batch_claim_short_is_no_error_and_a_paused_queue_is_left_alone(
    client: Client, ledger: Ledger
) -> None:
    ids = client.add(3)
    ledger.rows("select emq.pause('q')")
    assert client.claim(7) == []
    ledger.rows("select emq.resume('q')")
    assert [held.id for held in client.claim(7)] == ids
    assert client.claim(7) == []


def test_batch_partial_failure_only_the_failed_one_comes_back(client: Client) -> None:
    client.add(4)
    first, *rest = client.claim(4)
    assert client.retry(first) == ["pending"]
    assert client.complete(*rest) == ["done"] * 3
    assert [(held.id, held.attempts) for held in client.claim(9)] == [(first.id, 2)]


def test_batch_partition_each_job_has_one_answer_in_the_order_asked(
    client: Client, ledger: Ledger
) -> None:
    client.add(1)
    client.add(1, max_attempts=1)
    client.add(4)
    again, dies, done, stale, waits, called_off = client.claim(6)
    ledger.operate("cancel", called_off.id)
    assert client.retry(called_off, again, stale.stale, dies) == ["lost", "pending", "lost", "dead"]
    assert client.complete(again, done) == ["lost", "done"]
    assert client.snooze(dies, waits, delay=3600) == ["lost", "scheduled"]
    places = [ledger.place(one.id) for one in (again, dies, done, stale, waits, called_off)]
    assert places == ["pending", "dead", "completed", "active", "scheduled", "cancelled"]


def test_batch_delay_counts_nothing_and_the_next_fence_is_higher(
    client: Client, ledger: Ledger
) -> None:
    client.add(2)
    held = client.claim(2)
    assert client.snooze(*held, delay=0.05) == ["scheduled", "scheduled"]
    ledger.wait("not exists (select from emq.scheduled where run_at > clock_timestamp())")
    assert ledger.promote() == 2
    again = client.claim(2)
    assert [(one.attempts, one.failures, one.stalled) for one in again] == [(2, 0, 0)] * 2
    assert min(one.fence for one in again) > max(one.fence for one in held)


def test_batch_delay_stale_the_old_holder_is_refused_and_the_new_one_unharmed(
    client: Client,
) -> None:
    client.add(2)
    old = client.claim(2, nonce=1)
    client.release(*old)
    new = client.claim(2, nonce=2)
    assert client.snooze(*old, delay=60) == ["lost", "lost"]
    assert client.complete(*new) == ["done", "done"]
