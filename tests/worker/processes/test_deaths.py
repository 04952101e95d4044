"""The death of a child costs the job that it ran one stall, and nothing else anything."""

from __future__ import annotations

import os
import random
from contextlib import suppress
from datetime import timedelta

import psutil
import pytest

from tests.worker.processes.conftest import Family, lives

DEATHS = {
    "kill": "was ended by SIGKILL; out of memory?",
    "exit": "ended with exit code 3.",
    "segfault": "was ended by SIGSEGV.",
    "rubbish": "wrote into its channel what is no frame",
    "no frame": "wrote into its channel what is no frame",
    "no such frame": "wrote into its channel what is no frame",
    "close": "ended with exit code 1.",
}


@pytest.mark.parametrize("how", DEATHS)
def test_a_death_is_one_stall_with_an_error_that_says_how(household: Family, how: str) -> None:
    (job,) = household.enqueue("dies_by", how=how, _lease=timedelta(hours=1))
    assert household.completed(job) == [(2, 1, 0)]
    ((ended, error),) = household.attempts(job)
    assert ended == "stalled"
    assert error.startswith("The process that ran it ")
    assert DEATHS[how] in error
    assert household.refused(job) == 0


def test_poison_jobs_become_dead_letters_and_innocents_lose_nothing(household: Family) -> None:
    innocent, poison = [], []
    for _ in range(20):
        innocent += household.enqueue("echo", 5, text="innocent")
        poison += household.enqueue("dies_by", queue="poison", how="exit", times=99)
    assert {household.died(job)[:3] for job in poison} == {("stalled", 1, 0)}
    assert set(household.completed(*innocent)) == {(1, 0, 0)}
    assert not any(household.attempts(job) for job in innocent)


def test_whenever_a_child_dies_each_effect_is_there_once(family: Family) -> None:
    """EMQ_SQL_CHILD_KILLS=100 for a campaign."""
    kills = int(os.environ.get("EMQ_SQL_CHILD_KILLS", "4"))
    family.reader.execute("select emq.configure('default', p_max_stalled => 1000)")
    jobs = family.enqueue("completes", 15 * kills, then="waits", seconds=0.05)
    worker = family.start(processes=3, lease=0.5, max_jobs_per_child=20)
    rng = random.Random(kills)
    for n in range(kills):
        family.until("select count(*) >= %s from emq.archive", 10 * (n + 1))
        family.wait(worker.children, "a child")
        with suppress(psutil.NoSuchProcess):
            rng.choice(worker.children()).kill()
    counts = family.completed(*jobs)
    assert {attempts - stalled for attempts, stalled, _ in counts} == {1}
    assert {failures for *_, failures in counts} == {0}
    assert family.one("select count(*) from effect") == len(jobs)
    assert family.one("select count(distinct job) from effect") == len(jobs)
    assert family.one("select count(*) from emq.refusal") == 0


def test_what_a_handler_has_forked_ends_with_its_process(household: Family) -> None:
    # That process holds all that its parent held open, and would hide the death.
    (job,) = household.enqueue("dies_by", how="orphan", _lease=timedelta(hours=1))
    assert household.completed(job) == [(2, 1, 0)]
    (orphan,) = household.effects(job)
    household.until_gone(int(orphan))


def test_the_death_of_an_idle_child_costs_nothing(family: Family) -> None:
    worker = family.start(lease=3600)
    assert family.completed(*family.enqueue("echo", text="first")) == [(1, 0, 0)]
    (child,) = worker.children()
    child.kill()
    family.until_gone(child.pid)
    jobs = family.enqueue("echo", 3, text="second")
    assert family.completed(*jobs) == [(1, 0, 0)] * 3
    assert family.one("select count(*) from emq.attempt") == 0


def test_a_job_that_its_child_had_not_begun_runs_in_another_one_at_no_cost(family: Family) -> None:
    worker = family.start(lease=3600)
    family.completed(*family.enqueue("echo", text="first"))
    (child,) = worker.children()
    child.suspend()
    (job,) = family.enqueue("echo", text="second")
    family.until("select count(*) = 1 from emq.active")
    child.kill()
    assert family.completed(job) == [(1, 0, 0)]
    assert family.one("select count(*) from emq.attempt") == 0


def test_an_exit_that_python_can_catch_is_a_failure_and_ends_no_process(family: Family) -> None:
    worker = family.start()
    (job,) = family.enqueue("exits", _max_attempts=2)
    reason, stalled, failures, error = family.died(job)
    assert (reason, stalled, failures) == ("exception", 0, 2)
    assert "SystemExit: 5" in error
    (pid,) = family.enqueue("pid")
    assert [family.result(pid)] == [child.pid for child in worker.children()]
    assert lives(family.result(pid))


def test_what_a_handler_prints_is_no_word_to_the_worker(household: Family) -> None:
    (job,) = household.enqueue("prints", lines=50)
    assert household.completed(job) == [(1, 0, 0)]
    said = household.workers[0].log.read_bytes()
    assert said.count(f"hello from {job}".encode()) == 50
