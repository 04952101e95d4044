"""A worker killed with SIGKILL at any step loses nothing and settles nothing twice."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from emq_sql.crashpoints import POINTS
from tests.faults.processes import Field

JOBS = 200
# The pass at which a process dies. The first group is passed once a job, the second once a call.
PASS = {"mid-handler": 80, "after-effect": 80} | dict.fromkeys(
    ("before-claim", "after-claim", "before-complete", "after-complete"), 22
)
PASS_OWN = PASS | {"before-complete": 80, "after-complete": 80}
AT_LEAST_KILLS = 2


@pytest.mark.parametrize("task", ["plain", "own"])
@pytest.mark.parametrize("point", sorted(PASS))
def test_each_job_is_settled_once_whichever_step_the_worker_dies_at(
    field: Field, point: str, task: str
) -> None:
    enqueue_all(field, task)
    at = f"{point}:{(PASS_OWN if task == 'own' else PASS)[point]}"
    kills = 0
    while field.one("select count(*) from emq.archive") < JOBS:
        worker = field.start({"EMQ_SQL_CRASH_AT": at}, burst=True, lease=0.6)
        kills += worker.wait() == -signal.SIGKILL
        assert worker.process.returncode in (0, -signal.SIGKILL), worker.said()
        if worker.process.returncode == 0:
            field.until("select count(*) = 0 from emq.active where lease_deadline > now()")
    assert kills >= AT_LEAST_KILLS
    assert_settled_once(field, task)


@pytest.mark.parametrize("point", ["after-claim:6", "mid-handler:80", "before-complete:4"])
def test_each_job_is_settled_once_when_workers_die_with_jobs_that_wait(
    field: Field, point: str
) -> None:
    enqueue_all(field, "plain")
    kills = 0
    while field.one("select count(*) from emq.archive") < JOBS:
        worker = field.start({"EMQ_SQL_CRASH_AT": point}, burst=True, lease=0.6, prefetch=20)
        kills += worker.wait() == -signal.SIGKILL
        assert worker.process.returncode in (0, -signal.SIGKILL), worker.said()
        if worker.process.returncode == 0:
            field.until("select count(*) = 0 from emq.active where lease_deadline > now()")
    assert kills >= 1
    assert_settled_once(field, "plain")


@pytest.mark.parametrize("task", ["plain", "own"])
def test_each_job_is_settled_once_when_workers_die_while_they_extend(
    field: Field, task: str
) -> None:
    enqueue_all(field, task, seconds=0.15)
    kills = 0
    while field.one("select count(*) from emq.archive") < JOBS:
        worker = field.start(
            {"EMQ_SQL_CRASH_AT": "during-extend:8"}, burst=True, lease=0.3, concurrency=16
        )
        kills += worker.wait() == -signal.SIGKILL
    assert kills >= AT_LEAST_KILLS
    assert_settled_once(field, task)


def test_each_job_is_settled_once_when_workers_die_while_they_release(field: Field) -> None:
    enqueue_all(field, "hold")
    for kill in range(AT_LEAST_KILLS):
        worker = field.start(
            {"EMQ_SQL_CRASH_AT": "before-release"}, lease=0.6, concurrency=50, grace=0
        )
        field.until("select count(*) >= 50 from started where pid = %s", worker.pid)
        worker.send(signal.SIGTERM)
        assert worker.wait() == -signal.SIGKILL, kill
    field.let_go()
    field.start(concurrency=8)
    assert_settled_once(field, "hold")


def test_every_crash_point_was_tried() -> None:
    assert set(PASS) | {"during-extend", "before-release"} == set(POINTS)


def enqueue_all(field: Field, task: str, **given: Any) -> None:
    # The budget is not what is tested here: a job may stall as often as a worker is killed.
    field.reader.execute("select emq.configure('default', p_max_stalled => 30)")
    field.enqueue(task, JOBS, **given)


def assert_settled_once(field: Field, task: str) -> None:
    field.until_archived(JOBS)
    assert field.one("select count(distinct id) from emq.archive") == JOBS
    left = "select count(*) from emq.pending union all select count(*) from emq.active"
    assert field.rows(f"{left} union all select count(*) from emq.dead") == [(0,)] * 3
    if task == "own":
        effects = field.rows("select count(*), count(distinct job) from effect")
        assert effects == [(JOBS, JOBS)]
        of_another_fence = "select count(*) from effect e join emq.archive a on a.id = e.job"
        assert field.one(f"{of_another_fence} where a.fence <> e.fence") == 0
    elif task == "plain":
        assert field.one("select count(distinct job) from effect") == JOBS
