"""Watch: leases that are kept, leases that are lost, jobs that were called off."""

from __future__ import annotations

from tests.conformance.client import SHORT, Client
from tests.protocol.calls import Ledger

EXPIRED = "not exists (select from emq.active where lease_deadline >= clock_timestamp())"


def test_lock_extend_a_lease_that_was_extended_outlives_its_first_deadline(
    client: Client, ledger: Ledger
) -> None:
    client.add(2)
    held, gone = client.claim(2, lease=SHORT)
    assert client.extend(held, lease=60) == ["done"]
    client.complete(gone)
    ledger.wait("clock_timestamp() > %s", held.lease_deadline)
    assert ledger.reap() == (0, 0, 0)
    assert client.extend(held.stale, gone) == ["lost", "lost"]
    assert client.complete(held) == ["done"]


def test_stalled_the_first_lapse_recovers_and_the_second_kills_at_a_limit_of_two(
    client: Client, ledger: Ledger
) -> None:
    ledger.rows("select emq.configure('q', p_max_stalled => 2)")
    (id,) = client.add()
    for recovered, died in (([id], []), ([], [id])):
        client.take(lease=SHORT)
        ledger.wait(EXPIRED)
        answer = ledger.row("select recovered, dead from emq.check_stalled('q')")
        assert answer == (recovered, died)
    assert ledger.rows("select id, reason from emq.dead") == [(id, "stalled")]


def test_cancel_reaches_the_holder_with_its_extension_and_no_other_job(
    client: Client, ledger: Ledger
) -> None:
    client.add(2)
    off, on = client.claim(2)
    assert ledger.operate("cancel", off.id) == "done"
    assert client.keep(off, on) == (["cancelled", "done"], [])
    assert client.complete(off, on) == ["lost", "done"]
    assert client.outcome(off) == "cancelled"
