"""Depth: no job is ever nowhere, a ceiling holds, and a batch of extensions answers for each."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.client import SHORT, Client, Held
from tests.conformance.test_watch import EXPIRED
from tests.protocol.calls import Ledger

PLACES = {"pending", "scheduled", "active", "dead", "completed", "cancelled", "discarded"}
STEPS = ("claim", "complete", "retry", "later", "snooze", "release", "stall", "promote",
         "cancel", "replay", "discard", "enqueue")  # fmt: skip


@settings(
    max_examples=10, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(steps=st.lists(st.sampled_from(STEPS), min_size=5, max_size=25))
def test_unknown_state_cannot_be_reached_by_any_row_of_verbs(
    client: Client, ledger: Ledger, steps: list[str]
) -> None:
    (id,) = client.add(max_attempts=3)
    held: list[Held] = []
    for step in steps:
        last = held[-1:]
        if step == "claim":
            held += client.claim(1)
        elif step == "enqueue":
            assert client.enqueue(id=id)[1] == "duplicate"
        elif step == "promote":
            ledger.promote()
        elif step in ("cancel", "replay", "discard"):
            ledger.operate(step, id)
        elif step == "later":
            client.retry(*last, delay=0.001)
        elif step == "snooze":
            client.snooze(*last, delay=0.001)
        else:
            getattr(client, step)(*last)
        assert ledger.place(id) in PLACES
        assert ledger.rows("select * from emq.misplaced") == []
    ledger.operate("cancel", id)
    ledger.operate("discard", id)


def test_rate_consult_at_the_ceiling_one_runs_and_one_waits_until_the_slot_is_free(
    client: Client, ledger: Ledger
) -> None:
    ledger.rows("""select emq.set_queue('q', '{"max_active": 1}')""")
    client.add(2)
    (held,) = client.claim(9)
    assert client.claim(9) == []
    depth = "select active, pending from emq.depth where queue = 'q'"
    assert ledger.row(depth) == (1, 1)
    assert client.complete(held) == ["done"]
    assert len(client.claim(9)) == 1


def test_extend_locks_batch_answers_for_the_live_the_stale_and_the_gone(
    client: Client, ledger: Ledger
) -> None:
    client.add(3)
    live, stale, gone = client.claim(3, lease=SHORT)
    client.complete(gone)
    assert client.extend(live, stale.stale, gone, lease=60) == ["done", "lost", "lost"]
    ledger.wait("clock_timestamp() > %s", stale.lease_deadline)
    assert not ledger.one(f"select {EXPIRED}")
    assert ledger.reap() == (1, 0, 0)
    assert (ledger.place(live.id), ledger.place(stale.id)) == ("active", "pending")
