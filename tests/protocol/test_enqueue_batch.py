"""enqueue_batch: new jobs of one task, all of them or none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg
import pytest

from emq_sql.job import NewBatch
from emq_sql.minting import new_id, new_ids
from emq_sql.protocol import enqueueing
from emq_sql.protocol.enqueueing import IdTaken
from tests.plugins.server import Database
from tests.protocol.calls import Ledger, refused
from tests.protocol.gap import Call

BATCH = "select emq.enqueue_batch(%s, 't', %s::uuid[], %s::jsonb, %s, %s, %s::interval, %s::jsonb)"


def add(
    ledger: Ledger, ids: Sequence[UUID | None] | None, payloads: Any = None, *,
    queue: str | None = "default", priority: int | None = 2, max_attempts: int | None = None,
    lease: str | None = None, headers: str | None = None,
) -> None:  # fmt: skip
    if payloads is None and ids is not None:
        payloads = [{"n": n} for n in range(len(ids))]
    ids = None if ids is None else list(ids)
    ledger.run(BATCH, queue, ids, json.dumps(payloads), priority, max_attempts, lease, headers)


def nothing_is_there(ledger: Ledger) -> bool:
    return ledger.row(
        "select not exists (select from emq.job), not exists (select from emq.pending)"
    ) == (True, True)


def test_all_are_in_the_line_in_the_order_given(ledger: Ledger) -> None:
    ids = new_ids(6)
    order = [ids[k] for k in (3, 0, 5, 1, 4, 2)]
    add(ledger, order)
    held = ledger.claim(10)
    assert [one.id for one in held] == order
    assert [one.payload for one in held] == [{"n": n} for n in range(6)]


def test_what_is_said_holds_for_each_job(ledger: Ledger) -> None:
    first, second = ids = new_ids(2)
    usual = ledger.add_one()
    add(ledger, ids, priority=0, max_attempts=3, lease="9 s", headers='{"k": 1}')
    held = ledger.claim(3)
    assert [one.id for one in held] == [first, second, usual]
    assert {(one.lease_ms, json.dumps(one.headers)) for one in held[:2]} == {(9000, '{"k": 1}')}
    limits = "select id, max_attempts, priority from emq.job where id = any (%s) order by id"
    assert ledger.rows(limits, ids) == [(first, 3, 0), (second, 3, 0)]


def test_an_id_of_another_job_is_an_error_and_nothing_is_added(ledger: Ledger) -> None:
    known, new = ledger.add_one(), new_id()
    with pytest.raises(psycopg.errors.UniqueViolation):
        add(ledger, [new, known])
    assert ledger.column("select id from emq.job") == [known]
    assert ledger.column("select id from emq.pending") == [known]


def test_an_id_of_a_job_that_has_ended_is_an_error_too(ledger: Ledger) -> None:
    ledger.add_one()
    (held,) = ledger.claim()
    assert ledger.complete(held) == ["done"]
    with pytest.raises(psycopg.errors.UniqueViolation):
        add(ledger, [held.id])


def test_an_id_twice_is_an_error(ledger: Ledger) -> None:
    id = new_id()
    with pytest.raises(psycopg.errors.UniqueViolation):
        add(ledger, [id, id])
    assert nothing_is_there(ledger)


def test_a_repeat_waits_for_the_first_and_is_told_what_became_of_it(
    ledger: Ledger, db: Database
) -> None:
    ids = new_ids(3)
    with db.connect(autocommit=False) as first, db.connect() as second:
        add(Ledger(first), ids)
        repeat = Call(lambda: add(Ledger(second), ids))
        ledger.wait(
            "exists (select from pg_locks where pid = %s and not granted)",
            second.info.backend_pid,
        )
        first.commit()
        with pytest.raises(psycopg.errors.UniqueViolation):
            repeat.result()
    assert ledger.one("select count(*) from emq.pending") == 3


@pytest.mark.parametrize(
    ("ids", "payloads"),
    [(2, [{}]), (1, [{}, {}]), (0, [{}]), (1, {}), (1, "x"), (None, [{}]), (0, None)],
    ids=["fewer", "more", "no ids", "object", "text", "null ids", "null"],
)
def test_ids_and_payloads_that_are_not_in_step_are_refused(
    ledger: Ledger, ids: int | None, payloads: Any
) -> None:
    given = None if ids is None else new_ids(ids)
    text = None if payloads is None else json.dumps(payloads)
    with refused("EQ006", hint="one object for each id"):
        ledger.run(BATCH, "default", given, text, 2, None, None, None)
    assert nothing_is_there(ledger)


@pytest.mark.parametrize("payload", [[1], 3, "x", None])
def test_a_payload_that_is_no_object_is_refused(ledger: Ledger, payload: Any) -> None:
    with pytest.raises(psycopg.errors.CheckViolation) as told:
        add(ledger, new_ids(2), [{}, payload])
    assert told.value.diag.constraint_name == "job_payload_ck"
    assert nothing_is_there(ledger)


def test_no_jobs_are_no_error(ledger: Ledger) -> None:
    add(ledger, [], [])
    assert nothing_is_there(ledger)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_id_that_is_not_version_seven_is_refused_wherever_it_stands(
    ledger: Ledger, place: int
) -> None:
    ids = new_ids(3)
    ids[place] = UUID(int=ids[place].int ^ (0x7 ^ 0x4) << 76)  # of now, but for its version
    with refused("EQ002", hint="emq.job_id", names=ids[place]):
        add(ledger, ids)
    with refused("EQ002", hint="emq.job_id"):
        add(ledger, [*ids[:place], None, *ids[place + 1 :]])


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_id_dated_more_than_a_day_ahead_is_refused_wherever_it_stands(
    ledger: Ledger, place: int
) -> None:
    ids: list[UUID] = new_ids(3)
    at = "select emq.job_id('k', clock_timestamp() + %s::interval)"
    ids[place] = ledger.one(at, "24 h 1 min")
    with refused("EQ003", hint="clock of the producer", names=ids[place]):
        add(ledger, ids)
    ids[place] = ledger.one(at, "23 h 59 min")
    add(ledger, ids)
    assert ledger.one("select count(*) from emq.pending") == 3


@pytest.mark.parametrize("queue", ["Mail", "", "a b", None, "x" * 64])
def test_a_queue_name_outside_the_grammar_is_refused(ledger: Ledger, queue: str | None) -> None:
    with refused("EQ006", hint="Lower-case letters"):
        add(ledger, [new_id()], queue=queue)


def test_the_client_says_that_an_id_is_taken(ledger: Ledger, db: Database) -> None:
    known = ledger.add_one()
    with db.connect() as conn, pytest.raises(IdTaken, match="another job's"):
        enqueueing.enqueue_batch(conn, "emq", NewBatch("default", "t", [known], "[{}]"), own=True)
