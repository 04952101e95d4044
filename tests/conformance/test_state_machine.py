"""State machine: a job is minted, claimed, retried, reaped, and dies at its budget."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from tests.conformance.client import SHORT, Client, ClientRefused
from tests.conformance.workers import Shop
from tests.protocol.calls import Ledger


def test_fence_a_client_refuses_a_schema_that_it_was_not_made_for(
    client: Client, ledger: Ledger
) -> None:
    client.again("before")
    ledger.run("update emq.meta set version = version + 1")
    with pytest.raises(ClientRefused):
        client.again("after")


def test_mint_a_new_job_is_pending_at_attempt_zero_with_its_payload(
    client: Client, ledger: Ledger
) -> None:
    (id,) = client.add(payload={"n": 1})
    assert ledger.row("select place, attempts from emq.place(%s)", id) == ("pending", 0)
    assert ledger.one("select payload from emq.envelope(%s)", id) == {"n": 1}


def test_duplicate_a_known_id_adds_nothing_and_the_first_payload_stays(
    client: Client, ledger: Ledger
) -> None:
    (id,) = client.add(payload={"n": 1})
    assert client.enqueue(id=id, payload={"n": 2}) == (id, "duplicate")
    assert ledger.one("select count(*) from emq.pending") == 1
    assert ledger.one("select payload from emq.envelope(%s)", id) == {"n": 1}


def test_kind_an_id_of_another_kind_is_refused_and_leaves_no_row(
    client: Client, ledger: Ledger
) -> None:
    ahead = ledger.one("select emq.job_id('k', now() + interval '2 days')")
    for id, code in ((uuid4(), "EQ002"), (ahead, "EQ003")):
        with pytest.raises(ClientRefused) as refused:
            client.enqueue(id=id)
        assert refused.value.code == code
    assert ledger.one("select count(*) from emq.job") == 0


def test_order_ids_tell_the_time_by_themselves_and_the_line_is_in_order_of_enqueue(
    client: Client, ledger: Ledger
) -> None:
    now = ledger.one("select now()")
    second, first, third = (
        client.job_id("k", now + timedelta(milliseconds=ms)) for ms in (2, 1, 3)
    )
    for id in (second, first, third):
        client.enqueue(id=id)
    newest_first = ledger.column("select id from emq.pending order by id desc")
    assert newest_first == [third, second, first]
    assert [held.id for held in client.claim(3)] == [second, first, third]


def test_claim_makes_a_job_active_at_attempt_one_with_its_payload(
    client: Client, ledger: Ledger
) -> None:
    (id,) = client.add(task="mail", payload={"to": "a"})
    held = client.take(nonce=4711)
    assert (held.id, held.attempts, held.task, held.payload) == (id, 1, "mail", {"to": "a"})
    assert held.fence == (1 << 40) + 4711
    assert ledger.place(id) == "active"


def test_stale_a_wrong_fence_is_refused_and_the_right_one_settles_in_a_new_session(
    client: Client, ledger: Ledger
) -> None:
    client.add()
    held = client.take()
    assert client.complete(held.stale) == ["lost"]
    assert ledger.place(held.id) == "active"
    assert client.again("cold").complete(held) == ["done"]


def test_complete_takes_the_job_out_of_the_ledger_and_keeps_its_result(
    client: Client, ledger: Ledger
) -> None:
    (id,) = client.add()
    held = client.take()
    assert client.complete(held, results=[{"sum": 3}]) == ["done"]
    assert ledger.rows("select * from emq.active") == []
    assert ledger.place(id) == client.outcome(held) == "completed"
    assert client.result(id) == [{"sum": 3}]


def test_retry_waits_with_its_error_kept_and_comes_back_at_attempt_two(
    client: Client, ledger: Ledger
) -> None:
    (id,) = client.add()
    assert client.retry(client.take(), delay=0.05, error="boom") == ["scheduled"]
    assert ledger.place(id) == "scheduled"
    assert ledger.column("select error from emq.attempt where id = %s", id) == ["boom"]
    ledger.until(lambda: ledger.promote() == 1, "the delay is over")
    assert client.take().attempts == 2


def test_dead_at_a_budget_of_one_the_error_is_kept_where_it_can_be_read(
    client: Client, ledger: Ledger
) -> None:
    (id,) = client.add(max_attempts=1)
    assert client.retry(client.take(), error="boom") == ["dead"]
    assert ledger.rows("select id, reason, error from emq.dead") == [(id, "exception", "boom")]


def test_reap_takes_back_an_expired_lease_and_the_next_claim_is_attempt_two(
    client: Client, ledger: Ledger
) -> None:
    (id,) = client.add()
    client.take(lease=SHORT)
    ledger.wait("(select lease_deadline < clock_timestamp() from emq.active)")
    assert ledger.reap() == (1, 0, 0)
    assert ledger.place(id) == "pending"
    assert client.take().attempts == 2


def test_schedule_a_delayed_job_is_not_claimed_before_it_is_promoted(
    client: Client, ledger: Ledger
) -> None:
    id, status = client.enqueue(delay=SHORT)
    assert (status, client.claim()) == ("scheduled", [])
    ledger.until(lambda: ledger.promote() == 1, "the delay is over")
    assert client.take().id == id


def test_backoff_a_job_that_always_fails_dies_at_exactly_its_third_attempt(
    client: Client, ledger: Ledger
) -> None:
    (id,) = client.add(max_attempts=3)
    for attempt, answer in ((1, "scheduled"), (2, "scheduled"), (3, "dead")):
        ledger.until(lambda: ledger.promote() or ledger.place(id) == "pending", "it waits in line")
        held = client.take()
        assert held.attempts == attempt
        assert client.retry(held, delay=0.01, error=f"boom {attempt}") == [answer]
    assert ledger.rows("select attempts, failures, error from emq.dead") == [(3, 3, "boom 3")]


def test_resubscribe_a_listener_whose_connection_was_cut_hears_the_bell_again(
    python_shop: Shop,
) -> None:
    """Of the Python worker: it polls so seldom that only the bell can bring it its job."""
    ledger = python_shop.ledger
    listening = (
        "select pid from pg_stat_activity where datname = current_database()"
        " and query ~* '^(listen|select emq.park)' and pid <> all (%s::int[])"
    )
    python_shop.start(EMQ_POLL="3600")
    python_shop.until(lambda: bool(ledger.rows(listening, [])))
    (cut,) = ledger.column(listening, [])
    ledger.run("select pg_terminate_backend(%s)", cut)
    python_shop.until(lambda: bool(ledger.rows(listening, [cut])))
    ledger.wait("not exists (select from emq.pending)")
    id = python_shop.enqueue("note")
    ledger.rows("select emq.ring('q')")
    python_shop.until_at(id, "completed")
