"""Jobs that kill their process are started as often as their budget says, and cost nobody else.

EMQ_SQL_POISON_JOBS says among how many innocent ones; the suite runs a slice.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import pytest

from emq_sql.protocol import upkeep
from tests.faults.forking import ForkedField, Nursery
from tests.faults.supervising import Supervisor
from tests.plugins.databases import Database

INNOCENT = int(os.environ.get("EMQ_SQL_POISON_JOBS", "60"))
LEASE = 0.8  # of those that may die with it
LONG = 30.0
DEATHS = ("exit", "segfault", "memory")


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


@pytest.mark.timeout(60 + INNOCENT)
@pytest.mark.parametrize("how", DEATHS)
def test_a_poison_job_that_kills_its_process_is_started_exactly_its_budget_and_costs_no_innocent(
    field: ForkedField, how: str
) -> None:
    innocent = field.enqueue("innocent", 10)
    (poison,) = field.enqueue("poison", how=how)
    innocent += field.enqueue("innocent", INNOCENT - len(innocent))
    supervisor = Supervisor(field, lease=LEASE, apart=True)
    supervisor.until("select count(*) = %s from emq.archive", len(innocent))
    supervisor.until("select count(*) = 1 from emq.dead")
    dead = "select id, reason, stalled, failures from emq.dead"
    assert field.rows(dead) == [(poison, "stalled", 3, 0)]
    starts = field.rows("select pid from started")
    assert len(set(starts)) == len(starts) == 3
    assert supervisor.deaths == 2  # the third time it had a process of its own
    assert_all_completed(field, innocent)


@pytest.mark.timeout(60 + INNOCENT)
def test_poison_jobs_of_all_kinds_at_once_cost_no_innocent(field: ForkedField) -> None:
    innocent, poison = [], []
    for n in range(INNOCENT):
        innocent += field.enqueue("innocent")
        if n % max(INNOCENT // 3, 1) in {3, 4}:  # two at a time: one dies at once, one a bit later
            how = [*DEATHS, "worker"][len(poison) % 4]
            poison += field.enqueue("poison", how=how, after=0.15 * (n % 2))
    supervisor = Supervisor(field, workers=2, lease=LEASE, apart=True)
    supervisor.until("select count(*) = %s from emq.archive", len(innocent))
    supervisor.until("select count(*) = %s from emq.dead", len(poison))
    dead = field.rows("select id, reason, stalled, failures from emq.dead")
    assert sorted(dead) == sorted((job, "stalled", 3, 0) for job in poison)
    most = "select max(n) from (select count(*) as n from started group by job) s"
    assert field.one(most) <= 3  # fewer, if another one killed it before it had begun
    assert_all_completed(field, innocent)


def test_what_kills_its_worker_costs_no_other_job_that_is_on_its_last_chance(
    field: ForkedField,
) -> None:
    (killer,) = field.enqueue("poison", how="worker")
    others = field.enqueue("poison", 2, how="kill", times=2, rest=0.5)
    lose(field, 2)
    others += field.enqueue("poison", how="worker", times=1)  # it begins when they may, not sooner
    supervisor = Supervisor(field, lease=LEASE, apart=True)
    supervisor.until("select count(*) = %s from emq.archive", len(others))
    supervisor.until("select count(*) = 1 from emq.dead")
    assert field.rows("select id, stalled from emq.dead") == [(killer, 3)]
    assert sorted(field.rows("select id, stalled from emq.archive")) == sorted(
        (job, stalled) for job, stalled in zip(others, (2, 2, 1), strict=True)
    )
    assert supervisor.deaths == 2


def test_a_job_on_its_last_chance_is_not_held_where_another_one_may_end_the_process(
    field: ForkedField,
) -> None:
    (last,) = field.enqueue("poison", how="kill", times=2, queue="lost")
    lose(field, 2, queue="lost")
    upkeep.pause(field.reader, "emq", "lost")
    both = {"queues": ["default", "lost"], "apart": True}
    worker = field.start(lease=LEASE, **both)
    (killer,) = field.enqueue("poison", how="kill", times=1, key="go")
    field.until("select exists (select from started where job = %s)", killer)
    field.until("select exists (select from emq.pending where id = %s)", last)
    upkeep.resume(field.reader, "emq", "lost")
    # Given back at no cost, and left in the line for a worker in which nothing runs.
    field.until("select exists (select from emq.attempt where id = %s and how = 'released')", last)
    field.until("select exists (select from emq.pending where id = %s)", last)
    field.let_go()
    assert worker.wait() == -signal.SIGKILL
    assert field.rows("select stalled, failures from emq.pending where id = %s", last) == [(2, 0)]
    Supervisor(field, lease=LONG, **both).until("select count(*) = 2 from emq.archive")
    result = "select result -> 'stalled' from emq.archive where id = %s"
    assert field.one(result, last) == 2


def test_a_job_that_is_lost_twice_and_completes_in_its_third_run_has_its_history(
    field: ForkedField,
) -> None:
    (job,) = field.enqueue("poison", how="kill", times=2, _max_attempts=3)
    lose(field, 2)
    worker = field.start(lease=LONG, apart=True)
    field.rows("select emq.reap(100)")
    field.until_archived(1)
    ended = "select how, error is null from emq.attempt where id = %s order by fence"
    assert field.rows(ended, job) == [("stalled", True), ("stalled", True)]
    finished = "select status, attempts, stalled, failures from emq.archive"
    assert field.rows(finished) == [("completed", 3, 2, 0)]
    # Another loss would have been its last: it had a process to itself, which ends with its worker.
    pid = field.one("select (result ->> 'pid')::int from emq.archive")
    assert pid != worker.pid
    assert psutil.Process(pid).ppid() == worker.pid
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0, worker.said()
    assert not psutil.pid_exists(pid)


def lose(field: ForkedField, times: int, queue: str = "default") -> None:
    """Have workers claim the one job and die with it; its last lease has expired then."""
    for _ in range(times):
        field.rows("select emq.reap(100)")
        assert field.start(lease=0.3, queues=[queue]).wait() == -signal.SIGKILL
        field.until("select bool_and(lease_deadline < clock_timestamp()) from emq.active")


def assert_all_completed(field: ForkedField, jobs: list[UUID]) -> None:
    done = field.rows("select id, status, failures from emq.archive")
    assert sorted(done) == sorted((job, "completed", 0) for job in jobs)
    left: list[Any] = field.rows("select id from emq.pending union all select id from emq.active")
    assert left == []
