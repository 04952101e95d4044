"""Lock field: the lease is the lock; it ends by itself and everything else stays."""

from __future__ import annotations

from tests.conformance.client import SHORT, Client
from tests.conformance.test_watch import EXPIRED
from tests.protocol.calls import Ledger


def test_native_lock_field_a_lease_ends_by_itself_and_the_job_stays_whole(
    client: Client, ledger: Ledger
) -> None:
    (id,) = client.add(payload={"n": 1})
    held = client.take(lease=SHORT)
    assert ledger.one("select lease_state from emq.ledger") == "held"
    ledger.wait(EXPIRED)
    assert ledger.one("select lease_state from emq.ledger") == "expired"
    assert ledger.one("select payload from emq.envelope(%s)", id) == {"n": 1}
    assert client.outcome(held) == "yours"


def test_native_lock_refuses_others_while_it_is_held_and_heals_by_itself(
    client: Client, ledger: Ledger
) -> None:
    client.add()
    held = client.take(lease=SHORT)
    other = client.again("other")
    assert other.claim(9) == []
    assert other.complete(held.stale) == ["lost"]
    ledger.wait(EXPIRED)
    ledger.reap()
    assert other.take().id == held.id
