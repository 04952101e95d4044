"""What handlers do to a child that is no death of it: the job ends, and the child lives on."""

from __future__ import annotations

from tests.worker.processes.conftest import Family


def test_a_result_that_cannot_be_looked_at_ends_its_job_and_no_child(household: Family) -> None:
    (job,) = household.enqueue("lazy")
    assert "emq_unstorable" in household.result(job)
    assert household.completed(job) == [(1, 0, 0)]


def test_a_coroutine_that_stops_the_loop_of_its_child_goes_on(family: Family) -> None:
    worker = family.start()
    jobs = family.enqueue("stops_the_loop", 3)
    assert family.completed(*jobs) == [(1, 0, 0)] * 3
    (awaiting,) = family.enqueue("awaits", seconds=0.01)
    assert family.result(awaiting) == "slept"
    assert "has stopped the event loop, which goes on" in worker.said()


def test_a_coroutine_that_breaks_the_loop_of_its_child_has_failed(family: Family) -> None:
    family.start()
    (job,) = family.enqueue("closes_the_loop")
    assert family.result(job) == "on another one"
    assert family.completed(job) == [(2, 0, 1)]
    ((how, error),) = family.attempts(job)
    assert how == "failed"
    assert "closed the event loop" in error


def test_an_error_from_a_child_is_logged_by_the_first_line_of_what_it_says(family: Family) -> None:
    worker = family.start()
    (job,) = family.enqueue("raises", text="the order is gone\nask later\n+---", _max_attempts=1)
    assert family.died(job)[0] == "exception"
    family.wait(lambda: "is a dead letter" in worker.said(), "the log")
    assert "is a dead letter: ValueError: the order is gone\n" in worker.said()
