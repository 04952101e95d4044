"""Read plane: how many there are, where a job is, what is remembered."""

from __future__ import annotations

from tests.conformance.client import Client
from tests.protocol.calls import Ledger, refused


def test_counts_agree_with_what_was_done_and_an_unknown_state_is_an_error(
    client: Client, ledger: Ledger
) -> None:
    client.add(4)
    client.take()
    client.enqueue(delay=3600)
    counts = ledger.row("select pending, active, scheduled, dead from emq.depth where queue = 'q'")
    assert counts == (3, 1, 1, 0)
    with refused("42703"):
        ledger.rows("select limbo from emq.depth")


def test_state_of_a_job_is_its_place_and_an_unknown_id_has_none(
    client: Client, ledger: Ledger
) -> None:
    (active,) = client.add()
    client.take()
    scheduled, _ = client.enqueue(delay=3600)
    assert (ledger.place(active), ledger.place(scheduled)) == ("active", "scheduled")
    assert ledger.rows("select place from emq.place(emq.uuid7())") == []


def test_metrics_count_each_completed_job_once_and_nothing_else(
    client: Client, ledger: Ledger
) -> None:
    completed = "select count(*) from emq.archive where queue = 'q' and status = 'completed'"
    client.add(2)
    assert ledger.one(completed) == 0
    held = client.take()
    assert client.complete(held.stale) == ["lost"]
    assert client.complete(held) == client.complete(held) == ["done"]
    assert client.retry(client.take()) == ["pending"]
    assert ledger.one(completed) == 1


def test_dedup_a_key_leads_to_its_job_and_another_key_to_none(
    client: Client, ledger: Ledger
) -> None:
    at = ledger.one("select now()")
    id, _ = client.enqueue(id=client.job_id("order-42", at))
    assert client.enqueue(id=client.job_id("order-42", at)) == (id, "duplicate")
    assert ledger.place(client.job_id("order-42", at)) == "pending"
    assert ledger.rows("select place from emq.place(%s)", client.job_id("order-43", at)) == []
