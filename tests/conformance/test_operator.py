"""Operator: pause, empty, put back, give up."""

from __future__ import annotations

import pytest

from tests.conformance.client import Client, Held
from tests.protocol.calls import Ledger, refused
from tests.protocol.emptying import TABLES, counts, drain, last, obliterate


def test_queue_pause_leaves_the_line_as_it_is_and_resume_serves_its_head(
    client: Client, ledger: Ledger
) -> None:
    first, second = client.add(2)
    ledger.rows("select emq.pause('q')")
    assert client.claim(9) == []
    assert ledger.one("select pending from emq.depth where queue = 'q'") == 2
    ledger.rows("select emq.resume('q')")
    assert [held.id for held in client.claim(9)] == [first, second]


def test_drain_removes_what_waits_and_the_running_job_survives(
    client: Client, ledger: Ledger
) -> None:
    client.add()
    held = client.take()
    ids = client.add(3)
    later = client.enqueue(delay=3600)[0]
    assert drain(ledger, "q") == (3, None)
    assert client.claim(9) == []
    assert [client.enqueue(id=id)[1] for id in ids] == ["duplicate"] * 3
    assert (ledger.place(held.id), ledger.place(later)) == ("active", "scheduled")
    assert drain(ledger, "q", scheduled=True) == (1, None)
    assert client.complete(held) == ["done"]


def test_obliterate_refuses_a_wrong_name_and_a_running_job_and_then_leaves_nothing(
    client: Client, ledger: Ledger
) -> None:
    client.add()
    held = client.take()
    dead(client, ledger)
    client.add(2)
    client.enqueue(delay=3600)
    before = counts(ledger)
    with refused("EQ006"):
        ledger.rows("select emq.obliterate('q', 'p')")
    assert obliterate(ledger, "q").status == "active"
    assert (counts(ledger), ledger.rows("select * from emq.queue")) == (before, [])
    assert client.complete(held) == ["done"]
    assert last(ledger, "q").status == "done"
    assert counts(ledger) == dict.fromkeys(TABLES, 0)
    assert ledger.rows("select * from emq.depth") == []
    assert client.enqueue(id=held.id)[1] == "enqueued"


def dead(client: Client, ledger: Ledger) -> Held:
    (id,) = client.add(max_attempts=1)
    held = client.take()
    assert client.retry(held) == ["dead"]
    assert ledger.place(id) == "dead"
    return held


def test_remove_job_takes_a_job_away_for_good_and_waits_for_no_open_transaction(
    client: Client, ledger: Ledger, third: Ledger
) -> None:
    (waiting,) = client.add()
    assert ledger.operate("cancel", waiting) == "done"
    assert (client.claim(9), ledger.place(waiting)) == ([], "cancelled")
    given_up = dead(client, ledger)
    assert ledger.operate("discard", given_up.id) == "done"
    assert client.enqueue(id=waiting)[1] == client.enqueue(id=given_up.id)[1] == "duplicate"

    client.add()
    held = client.take()
    with third.conn.transaction():
        third.rows("select emq.guard(%s, %s)", held.id, held.fence)
        assert ledger.operate("cancel", held.id) == "busy"
        assert ledger.place(held.id) == "active"
    assert ledger.operate("cancel", held.id) == "done"
    assert client.complete(held) == ["lost"]


@pytest.mark.parametrize("place", ["pending", "active"])
def test_reprocess_job_puts_a_dead_job_back_and_refuses_a_live_one(
    client: Client, ledger: Ledger, place: str
) -> None:
    held = dead(client, ledger)
    assert ledger.operate("replay", held.id) == "done"
    again = client.take()
    assert (again.id, again.attempts, again.failures) == (held.id, 2, 0)
    if place == "pending":
        client.release(again)
    assert ledger.operate("replay", held.id) == "lost"
    assert ledger.place(held.id) == place
    assert ledger.rows("select * from emq.dead") == []
