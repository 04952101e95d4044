"""Which lease a job gets: its own, else the call's, else its queue's, else thirty seconds."""

from __future__ import annotations

import pytest

from tests.protocol.calls import Ledger, refused


def test_without_settings_a_lease_is_thirty_seconds(ledger: Ledger) -> None:
    assert ledger.start().lease_ms == 30000


def test_the_queues_lease_beats_the_usual_one(ledger: Ledger) -> None:
    ledger.rows("select emq.configure('default', p_lease => '12 s')")
    assert ledger.start().lease_ms == 12000


def test_the_calls_lease_beats_the_queues(ledger: Ledger) -> None:
    ledger.rows("select emq.configure('default', p_lease => '12 s')")
    assert ledger.start(lease="7 s").lease_ms == 7000


def test_the_jobs_own_lease_beats_both(ledger: Ledger) -> None:
    ledger.rows("select emq.configure('default', p_lease => '12 s')")
    ledger.add_one(lease="90 s")
    held = ledger.take(lease="7 s")
    assert held.lease_ms == 90000
    assert ledger.one(
        "select %s - claimed_at > interval '89 s' from emq.active", held.lease_deadline
    )


def test_an_extension_without_a_lease_is_by_the_jobs_own(ledger: Ledger) -> None:
    ledger.add_one(lease="90 s")
    held = ledger.take()
    ledger.extend(held)
    assert ledger.one("select lease_deadline - clock_timestamp() > interval '80 s' from emq.active")


@pytest.mark.parametrize("back", ["retry", "snooze", "scheduled", "release", "reap", "replay"])
def test_the_jobs_own_lease_survives_every_way_back_into_the_line(
    ledger: Ledger, back: str
) -> None:
    """And the lease that a call gave to one claim does not."""
    own, called = ledger.add_one(lease="250 ms", max_attempts=1 if back == "replay" else None), None
    held = ledger.take(lease="1 ms")
    assert held.lease_ms == 250
    if back == "retry":
        ledger.run("update emq.job set max_attempts = null")
        ledger.retry(held)
    elif back == "snooze":
        ledger.snooze(held, delay="0 s")
    elif back == "scheduled":
        ledger.snooze(held, delay="1 ms")
        ledger.until(lambda: ledger.promote() == 1, "the delay is over")
    elif back == "release":
        ledger.release(held)
    elif back == "reap":
        ledger.expire(held)
        ledger.reap()
    else:
        ledger.retry(held)
        assert ledger.operate("replay", own) == "done"
    called = ledger.take(lease="7 s")
    assert (called.id, called.lease_ms) == (own, 250)


@pytest.mark.parametrize("back", ["retry", "release", "reap"])
def test_the_lease_of_a_call_is_for_that_claim_only(ledger: Ledger, back: str) -> None:
    held = ledger.start(lease="50 ms")
    if back == "reap":
        ledger.expire(held)
        ledger.reap()
    else:
        getattr(ledger, back)(held)
    assert ledger.take().lease_ms == 30000


@pytest.mark.parametrize("lease", ["1 ms", "25 h", "0 s"])
def test_an_own_lease_out_of_bounds_is_refused(ledger: Ledger, lease: str) -> None:
    with refused("23514"):
        ledger.add_one(lease=lease)
