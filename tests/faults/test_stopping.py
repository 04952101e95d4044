"""A worker that is told to stop drains, and gives back at no cost what it cannot finish."""

from __future__ import annotations

import signal

from tests.faults.processes import Field, Worker, wait_for

COUNTS = "select id, attempts, stalled, failures from emq.pending"


def until_draining(worker: Worker, field: Field) -> None:
    wait_for(lambda: "claims nothing more" in worker.said(), "draining", field)


def test_sigterm_lets_handlers_finish_and_claims_nothing_more(field: Field) -> None:
    running = field.enqueue("hold", 2)
    worker = field.start(concurrency=4, grace=60)
    field.until_started(2)
    field.until("select count(*) = 1 from emq.worker")
    worker.send(signal.SIGTERM)
    until_draining(worker, field)
    (later,) = field.enqueue("plain")
    field.let_go()
    assert worker.wait() == 0
    assert {id for (id,) in field.rows("select id from emq.archive")} == set(running)
    assert field.rows(COUNTS) == [(later, 0, 0, 0)]
    assert field.one("select count(*) from emq.worker") == 0


def test_leases_are_extended_while_the_worker_drains(field: Field) -> None:
    field.enqueue("deaf")
    worker = field.start(lease=0.4, grace=60)
    field.until_started(1)
    worker.send(signal.SIGTERM)
    until_draining(worker, field)
    seen = field.one("select extensions from emq.ledger")
    field.until("select extensions > %s from emq.ledger", seen + 4)
    field.let_go()
    assert worker.wait() == 0
    assert field.rows("select attempts, stalled from emq.archive") == [(1, 0)]


def test_what_runs_longer_than_the_grace_is_released_and_costs_the_job_nothing(
    field: Field,
) -> None:
    (quick, *slow) = [
        *field.enqueue("hold", key="quick"),
        *field.enqueue("deaf"),
        *field.enqueue("deaf_in_a_pool"),
    ]
    worker = field.start(grace=1)
    field.until_started(3)
    worker.send(signal.SIGTERM)
    field.let_go("quick")
    assert worker.wait() == 0  # although two threads still run their handlers
    assert field.rows("select id from emq.archive") == [(quick,)]
    assert sorted(field.rows(COUNTS)) == sorted((job, 1, 0, 0) for job in slow)
    assert field.one("select count(*) from emq.attempt where how = 'released'") == 2
    assert field.one("select count(*) from emq.worker") == 0

    field.let_go()
    assert field.start(burst=True).wait() == 0
    again = "select attempts, stalled, failures from emq.archive where id = any(%s)"
    assert field.rows(again, slow) == [(2, 0, 0)] * 2


def test_coroutines_end_with_the_grace_and_a_deaf_one_does_not_keep_the_worker(
    field: Field,
) -> None:
    tasks = ("lets_go", "deaf_coroutine", "deaf_to_the_end")
    jobs = [job for task in tasks for job in field.enqueue(task)]
    worker = field.start(grace=0.1)
    field.until_started(3)
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert sorted(field.rows(COUNTS)) == sorted((job, 1, 0, 0) for job in jobs)
    said = worker.said()
    assert said.count("does not end after it was cancelled") == 1  # the second has left its thread
    assert "still run; the process ends without them" in said


def test_a_handler_is_told_when_the_grace_is_over(field: Field) -> None:
    field.enqueue("hold")
    worker = field.start(grace=0.1)
    field.until_started(1)
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert "still run" not in worker.said()


def test_a_second_signal_releases_at_once(field: Field) -> None:
    (job,) = field.enqueue("deaf")
    worker = field.start(grace=3600)
    field.until_started(1)
    worker.send(signal.SIGTERM)
    until_draining(worker, field)
    worker.send(signal.SIGINT)
    assert worker.wait() == 0
    assert field.rows(COUNTS) == [(job, 1, 0, 0)]


def test_a_deploy_of_many_restarts_costs_no_budget(field: Field) -> None:
    # More restarts than the budget would bear if each counted.
    (job,) = field.enqueue("hold", _max_attempts=2)
    for _ in range(4):
        worker = field.start(grace=0)
        field.until("select count(*) = 1 from started where pid = %s", worker.pid)
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0
    assert field.rows(COUNTS) == [(job, 4, 0, 0)]
