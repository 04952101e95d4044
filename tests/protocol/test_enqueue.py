"""enqueue: a job exists if and only when the caller's transaction commits, and once for each id."""

from __future__ import annotations

import psycopg
import pytest

from emq_sql.minting import new_id
from tests.protocol.calls import Ledger, refused


def test_a_new_id_is_enqueued_and_a_known_one_is_a_duplicate(ledger: Ledger) -> None:
    id = new_id()
    assert ledger.row("select * from emq.enqueue('default', 't', '{}', %s)", id) == (id, "enqueued")
    assert ledger.row("select * from emq.enqueue('default', 't', '{}', %s)", id) == (
        id,
        "duplicate",
    )
    assert [held.id for held in ledger.claim(5)] == [id]


def test_the_server_mints_an_id_when_none_is_given(ledger: Ledger) -> None:
    ids = [ledger.add_one(id=None) for _ in range(3)]
    assert len(set(ids)) == 3
    assert {id.version for id in ids} == {7}


def test_a_job_that_was_rolled_back_never_was(ledger: Ledger, other: Ledger) -> None:
    id = other.add_one()
    other.conn.rollback()
    assert ledger.claim(5) == []
    assert ledger.status(id) == "enqueued"


def test_a_job_is_seen_by_nobody_before_its_transaction_commits(
    ledger: Ledger, other: Ledger
) -> None:
    id = other.add_one()
    assert ledger.claim(5) == []
    other.conn.commit()
    assert ledger.take().id == id


def test_jobs_of_one_level_are_claimed_in_the_order_of_enqueue(ledger: Ledger) -> None:
    ids = ledger.add(5)
    assert [held.id for held in ledger.claim(5)] == ids


def test_a_lower_priority_number_goes_first(ledger: Ledger) -> None:
    by_priority = {p: ledger.add_one(priority=p) for p in (4, 2, 0, 3, 1)}
    assert [held.id for held in ledger.claim(5)] == [by_priority[p] for p in range(5)]


def test_the_usual_priority_is_two(ledger: Ledger) -> None:
    usual, second, third = ledger.add_one(), ledger.add_one(priority=1), ledger.add_one(priority=3)
    assert [held.id for held in ledger.claim(3)] == [second, usual, third]


def test_a_new_queue_name_needs_no_row_and_makes_none(ledger: Ledger) -> None:
    ids = ledger.add(3, "new.name:x-1")
    assert ledger.one("select count(*) from emq.queue") == 0
    assert [held.id for held in ledger.claim(5, "new.name:x-1")] == ids


@pytest.mark.parametrize("name", ["Bad Name", "", "-x", "ü", "a" * 64, None])
def test_a_queue_name_outside_the_grammar_is_refused_with_the_grammar(
    ledger: Ledger, name: str | None
) -> None:
    with refused("EQ006", hint="Lower-case letters"):
        ledger.rows("select emq.enqueue(%s, 't', '{}')", name)
    with refused("EQ006", hint="Lower-case letters"):
        ledger.add_many([new_id()], name)  # type: ignore[arg-type]


def test_nothing_is_written_when_a_name_is_refused(ledger: Ledger) -> None:
    with refused("EQ006"):
        ledger.rows("select emq.enqueue('Bad', 't', '{}')")
    assert ledger.one("select count(*) from emq.job") == 0


@pytest.mark.parametrize("payload", ["[1]", "3", '"x"', "null"])
def test_a_payload_that_is_no_object_is_refused(ledger: Ledger, payload: str) -> None:
    with refused("23514"):
        ledger.add_one(payload=payload)


@pytest.mark.parametrize("priority", [-1, 5])
def test_a_priority_outside_zero_to_four_is_refused(ledger: Ledger, priority: int) -> None:
    with refused("23514"):
        ledger.add_one(priority=priority)


def test_a_repeat_during_the_completion_is_a_duplicate_at_once_whatever_its_end(
    ledger: Ledger, other: Ledger
) -> None:
    for end in (other.conn.rollback, other.conn.commit):
        held = ledger.start()
        assert other.complete(held) == ["done"]
        assert ledger.status(held.id) == "duplicate"
        end()
        assert ledger.status(held.id) == "duplicate"
        ledger.complete(held)


def test_an_id_whose_job_has_ended_is_a_duplicate(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.complete(held) == ["done"]
    assert ledger.status(held.id) == "duplicate"
    assert ledger.claim(5) == []


def test_a_repeat_of_an_uncommitted_id_waits_for_its_first_enqueue(
    ledger: Ledger, other: Ledger
) -> None:
    id = other.add_one()
    ledger.run("set lock_timeout = '50ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        ledger.status(id)
    other.conn.rollback()
    assert ledger.status(id) == "enqueued"


def test_headers_travel_with_the_job_and_are_an_object(ledger: Ledger) -> None:
    ledger.add_one(headers='{"trace": "abc"}')
    ledger.add_one()
    assert [held.headers for held in ledger.claim(2)] == [{"trace": "abc"}, None]
    with refused("23514"):
        ledger.add_one(headers="[1]")


def test_payload_and_task_are_handed_out_as_they_came(ledger: Ledger) -> None:
    ledger.add_one(task="app.mail.send", payload='{"to": "ann", "n": [1, {"é": null}]}')
    held = ledger.take()
    assert (held.task, held.payload) == ("app.mail.send", {"to": "ann", "n": [1, {"é": None}]})
