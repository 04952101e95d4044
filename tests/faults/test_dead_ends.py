"""However a job dies, it goes one way: the row, its reason, and the job that tells of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from tests.faults.forking import ForkedField, Nursery
from tests.faults.test_poison import lose
from tests.plugins.databases import Database

LEASE = 0.4


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery("tests.faults.poison_jobs")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def field(db: Database, nursery: Nursery, tmp_path: Path) -> Iterator[ForkedField]:
    made = ForkedField(db.dsn, tmp_path, db.connect())
    made.nursery = nursery
    try:
        yield made
    finally:
        made.close()


def set_queue(field: ForkedField, queue: str = "default", **settings: Any) -> None:
    field.rows("select emq.set_queue(%s, %s)", queue, Jsonb(settings))


def test_whichever_way_a_job_dies_the_queues_on_dead_runs_once_and_is_told_the_same(
    field: ForkedField,
) -> None:
    set_queue(
        field, max_attempts=2, max_stalled=2, unknown_after="1 ms", on_dead="on_dead",
        on_dead_queue="hooks",
    )  # fmt: skip
    expired = '{"emq-expires-after": 0}'
    ways: dict[str, UUID] = {
        "exception": field.enqueue("fails")[0],
        "timeout": field.enqueue("overstays")[0],
        "permanent": field.enqueue("hopeless")[0],
        "no handler": field.enqueue("no.such.task")[0],
        "expired": field.enqueue("innocent", _headers=expired)[0],
    }
    assert field.start(burst=True).wait() == 0
    # A process that dies with its run, while its worker lives.
    (in_a_child,) = field.enqueue("poison", how="exit")
    assert field.start(burst=True, processes=1).wait() == 0
    # A worker that is killed: nobody lives when psql takes the last lease back.
    (killed,) = field.enqueue("poison", how="kill")
    lose(field, 2)
    assert field.rows("select recovered, dead from emq.reap(100)") == [(0, 1)]
    assert field.start(burst=True, queues=["hooks"]).wait() == 0

    columns = "queue, task, reason, error, attempts, stalled, failures"
    rows = field.rows(f"select id::text, {columns} from emq.dead")
    names = ["job_id", *columns.split(", ")]
    letters = {row[0]: dict(zip(names, row, strict=True)) for row in rows}
    assert {ways[reason]: reason for reason in ways} | {
        in_a_child: "stalled",
        killed: "stalled",
    } == {UUID(id): letter["reason"] for id, letter in letters.items()}
    told = field.rows("select job::text, what::jsonb from effect")
    assert sorted(job for job, _ in told) == sorted(letters)  # each once
    assert dict(told) == letters
    counts = {
        letter["reason"]: (letter["stalled"], letter["failures"]) for letter in letters.values()
    }
    assert counts == {
        "exception": (0, 2), "timeout": (0, 2), "permanent": (0, 1), "no handler": (0, 0),
        "expired": (0, 0), "stalled": (2, 0),
    }  # fmt: skip
    assert field.one("select count(*) from emq.archive") == len(letters)  # what told, and no more


def test_a_job_lost_k_times_reappears_in_the_quarantine_queue_and_knows_of_it(
    field: ForkedField,
) -> None:
    set_queue(field, quarantine="quarantine", quarantine_after=2)
    (job,) = field.enqueue("poison", how="kill", times=2)
    lose(field, 2)
    field.rows("select emq.reap(100)")
    waits = "select queue, stalled from emq.pending where id = %s"
    assert field.rows(waits, job) == [("quarantine", 2)]
    assert field.start(burst=True).wait() == 0  # the former queue has it no longer
    assert field.rows(waits, job) == [("quarantine", 2)]
    assert field.start(burst=True, queues=["quarantine"]).wait() == 0
    ((told,),) = field.rows("select result from emq.archive where id = %s", job)
    assert (told["queue"], told["stalled"], told["failures"]) == ("quarantine", 2, 0)


def test_a_permanent_failure_is_tried_once_in_threads_and_in_children(field: ForkedField) -> None:
    for settings in ({}, {"processes": 1}):
        (job,) = field.enqueue("hopeless")
        worker = field.start(burst=True, **settings)
        assert worker.wait() == 0
        dead = "select reason, attempts, failures, error from emq.dead where id = %s"
        ((reason, attempts, failures, error),) = field.rows(dead, job)
        assert (reason, attempts, failures) == ("permanent", 1, 1)
        assert f"Permanent: there is no customer {job}" in error
        assert f"is a dead letter: emq_sql.errors.Permanent: there is no customer {job}" in (
            worker.said()
        )


def test_a_job_that_waited_too_long_is_not_begun_unless_an_operator_replays_it(
    field: ForkedField,
) -> None:
    soon = "jsonb_build_object('emq-expires-at', clock_timestamp() + interval '50 ms')"
    late = field.one(
        f"select id from emq.enqueue('default', 'innocent', '{{}}', p_headers => {soon})"
    )
    (in_time,) = field.enqueue("innocent", _headers='{"emq-expires-after": 600}')
    field.until("select clock_timestamp() > max(enqueued_at) + interval '60 ms' from emq.job")
    assert field.start(burst=True).wait() == 0
    assert field.rows("select job from effect") == [(in_time,)]
    assert field.rows("select id, reason, attempts from emq.dead") == [(late, "expired", 1)]
    assert "its first claim came" in field.one("select error from emq.dead")
    assert field.rows("select how from emq.attempt") == [("expired",)]
    assert field.rows("select emq.replay(%s)", late) == [("done",)]
    assert field.start(burst=True).wait() == 0
    assert field.one("select count(*) from effect where job = %s", late) == 1
