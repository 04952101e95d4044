"""Operator: pause, put back, give up."""

from __future__ import annotations

import pytest

from tests.conformance.client import Client, Held
from tests.protocol.calls import Ledger


def test_queue_pause_leaves_the_line_as_it_is_and_resume_serves_its_head(
    client: Client, ledger: Ledger
) -> None:
    first, second = client.add(2)
    ledger.rows("select emq.pause('q')")
    assert client.claim(9) == []
    assert ledger.one("select pending from emq.depth where queue = 'q'") == 2
    ledger.rows("select emq.resume('q')")
    assert [held.id for held in client.claim(9)] == [first, second]


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
