"""Who runs what: each job has one seat, one place in the line, or none, and is told of once."""

from __future__ import annotations

from emq_sql.worker.endings import Released
from emq_sql.worker.entry import Entry
from emq_sql.worker.handler import Handler
from emq_sql.worker.processes.board import MOST_FAILURES, Board
from tests.worker.making import entry


def job() -> Entry:
    return entry(Handler("t", print))


def test_a_seat_without_a_ready_child_counts_as_occupied() -> None:
    board = Board(2)
    assert board.occupied == 2
    assert board.next(board.seats[0]) is None  # ready, and with nothing to do
    assert board.occupied == 1
    board.submit(job())
    assert board.occupied == 2
    board.submit(job())
    assert board.occupied == 3


def test_a_job_goes_to_the_idle_seat_and_the_next_one_waits() -> None:
    board = Board(1)
    (seat,) = board.seats
    board.next(seat)
    first, second = job(), job()
    board.submit(first)
    board.submit(second)
    assert board.next(seat) is first
    assert board.over(seat, free=True) is None
    assert board.next(seat) is second


def test_what_waits_in_the_line_is_stopped_without_a_kill() -> None:
    board = Board(1)
    waiting = job()
    board.submit(waiting)
    assert board.stop(waiting, Released(), 1.0) == "waiting"
    assert board.next(board.seats[0]) is None


def test_a_stop_is_handed_to_whoever_ends_the_run_and_only_to_it() -> None:
    board = Board(1)
    (seat,) = board.seats
    running = job()
    board.submit(running)
    board.next(seat)
    assert board.stop(running, None, 5.0) == "running"
    assert board.stop(running, Released(), 1.0) == "running"
    stop = board.over(seat, free=True)
    assert stop is not None
    assert stop.ending == Released()
    assert board.stop(running, None, 1.0) == "nowhere"


def test_a_job_that_no_child_began_returns_to_the_head_of_the_line_once() -> None:
    board = Board(1)
    (seat,) = board.seats
    unlucky, later = job(), job()
    board.submit(unlucky)
    assert board.next(seat) is unlucky
    board.submit(later)
    assert board.dies(seat) == (unlucky, None)
    assert board.back(seat, unlucky)
    assert board.next(seat) is unlucky
    assert board.dies(seat) == (unlucky, None)
    assert not board.back(seat, unlucky)
    assert board.next(seat) is later
    assert board.dies(seat) == (later, None)
    assert board.back(seat, later)


def test_there_is_hope_while_one_child_lives_or_has_not_failed_often() -> None:
    board = Board(2)
    one, other = board.seats
    for _ in range(MOST_FAILURES):
        assert not board.failed(one)
    board.is_ready(other)
    for _ in range(MOST_FAILURES):
        assert not board.failed(other)
    board.dies(other)
    assert board.failed(one)
