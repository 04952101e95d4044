"""A run that must end is told, then its process is killed, and only then it is settled."""

from __future__ import annotations

import os
import signal

from tests.faults.processes import wait_for
from tests.worker.processes.conftest import Family, lives


def test_a_timeout_ends_the_process_counts_as_a_failure_and_attempts_do_not_overlap(
    household: Family,
) -> None:
    (job,) = household.enqueue("stuck_too_long", _max_attempts=2)
    reason, stalled, failures, error = household.died(job)
    assert (reason, stalled, failures) == ("timeout", 0, 2)
    assert "timed out after 0.3 s" in error
    runs = household.rows("select pid from started where job = %s", job)
    assert len(set(runs)) == 2
    assert not any(lives(pid) for (pid,) in runs)
    assert household.effects(job) == []  # no overlap was seen


def test_a_handler_that_heeds_its_timeout_keeps_its_process(family: Family) -> None:
    family.start()
    jobs = [*family.enqueue("heeds_too_late", _max_attempts=2)]
    jobs += family.enqueue("heeds_async", _max_attempts=2)  # whose task is cancelled
    for job in jobs:
        assert "timed out after 0.3 s" in family.died(job)[3]
        assert family.effects(job) == ["timed out"] * 2
    assert len(family.rows("select distinct pid from started")) == 1


def test_a_job_that_an_operator_cancels_is_told_and_then_killed(household: Family) -> None:
    heeds, stuck = [*household.enqueue("heeds"), *household.enqueue("stuck")]
    told, killed = household.until_begun(heeds, stuck)
    for job in (heeds, stuck):
        household.reader.execute("select emq.cancel(%s)", [job])
    household.until_gone(killed)
    assert lives(told)
    assert household.effects(heeds) == ["cancelled by an operator"]
    # Each has the extension that told the worker on record, and nothing of its end.
    assert [household.refused(job) for job in (heeds, stuck)] == [1, 1]
    jobs = household.enqueue("echo", 6, text="the slots are free")
    assert household.completed(*jobs) == [(1, 0, 0)] * 6


def test_what_outlasts_the_grace_is_killed_and_then_released_at_no_cost(family: Family) -> None:
    slow = sorted([*family.enqueue("stuck"), *family.enqueue("deaf")])
    worker = family.start(grace=0.5, processes=2)
    first = family.until_begun(*slow)
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert not any(lives(pid) for pid in first)
    assert family.waiting() == [(job, 1, 0, 0) for job in slow]
    assert family.one("select count(*) from emq.worker") == 0


def test_a_second_signal_releases_at_once(family: Family) -> None:
    (job,) = family.enqueue("stuck")
    worker = family.start(grace=3600)
    family.until_begun(job)
    worker.send(signal.SIGTERM)
    wait_for(lambda: "claims nothing more" in worker.said(), "draining", family)
    worker.send(signal.SIGINT)
    assert worker.wait() == 0
    assert family.waiting() == [(job, 1, 0, 0)]


def test_signals_to_the_whole_group_and_to_each_child_drain_as_one(family: Family) -> None:
    jobs = family.enqueue("hold", 2)
    worker = family.start(grace=60, processes=2)
    family.until_begun(*jobs)
    os.killpg(worker.pid, signal.SIGTERM)  # as a process manager does
    wait_for(lambda: "claims nothing more" in worker.said(), "draining", family)
    for child in worker.children():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            child.send_signal(number)
    (later,) = family.enqueue("echo", text="later")
    family.let_go()
    assert worker.wait() == 0
    assert family.completed(*jobs) == [(1, 0, 0)] * 2
    assert family.waiting() == [(later, 0, 0, 0)]


def test_programs_that_a_handler_starts_heed_sigterm(household: Family) -> None:
    (job,) = household.enqueue("ends_a_program")
    assert household.result(job) == -signal.SIGTERM
