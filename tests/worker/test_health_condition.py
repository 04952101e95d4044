"""Live and ready, decided from what the threads of a worker have said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.worker.health.condition import Bounds, Condition, condition
from emq_sql.worker.pulse import DATABASE_PATIENCE, MOST_UNKNOWN, OTHERS, Pulse

BOUNDS = Bounds(timedelta(seconds=30), timedelta(seconds=13))
QUEUES = ("default", "mail")


@dataclass
class Clock:
    """The monotonic clock of a worker that lives through an hour in no time."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pulse(clock: Clock) -> Pulse:
    """A worker of two slots that has just claimed."""
    pulse = Pulse(clock)
    pulse.works(2, 0, 0)
    pulse.beat("main", 1.0)
    pulse.claims()
    return pulse


def of(pulse: Pulse) -> Condition:
    return condition(pulse.reading(), QUEUES, BOUNDS)


def test_a_worker_that_has_claimed_nothing_yet_is_live_and_not_ready(clock: Clock) -> None:
    pulse = Pulse(clock)
    assert of(pulse).live and not of(pulse).ready
    assert of(pulse).not_ready == ("nothing was claimed yet",)


@given(late=st.floats(0, 1000), within=st.floats(0, 1000))
def test_a_loop_may_be_late_by_the_bound_and_no_more(late: float, within: float) -> None:
    clock = Clock()
    pulse = Pulse(clock)
    pulse.beat("keeper", within)
    due = clock.now + within
    clock.now = due + late
    assert of(pulse).live is not (clock.now > due + 30.0)


def test_a_loop_that_asks_the_database_is_not_late(pulse: Pulse, clock: Clock) -> None:
    with pulse.asking("main"):
        clock.now += DATABASE_PATIENCE
        assert of(pulse).live
    clock.now += 31
    assert not of(pulse).live, "after the answer it is late like any other"


def test_an_hour_on_all_slots_is_ready(pulse: Pulse, clock: Clock) -> None:
    pulse.works(2, 2, 2)
    for _ in range(120):
        clock.now += 30
        pulse.beat("main", 30)
    assert of(pulse).ready
    pulse.works(2, 1, 1)
    assert of(pulse).ready, "a moment after a slot was freed nothing can have been claimed"
    clock.now += 14
    pulse.beat("main", 1)
    assert not of(pulse).ready


def test_one_that_is_to_be_alone_is_all_the_work_of_its_worker(pulse: Pulse, clock: Clock) -> None:
    pulse.works(2, 1, 1, closed=True)
    clock.now += 14
    pulse.beat("main", 1)
    assert of(pulse).ready
    pulse.works(2, 0, 0, closed=True)
    clock.now += 14
    pulse.beat("main", 1)
    assert not of(pulse).ready


def test_slots_that_hung_handlers_keep_are_no_work(pulse: Pulse, clock: Clock) -> None:
    pulse.works(2, 2, 0)
    clock.now += 14
    pulse.beat("main", 1)
    assert not of(pulse).ready


def test_all_slots_at_work_without_their_leases_are_not_ready(pulse: Pulse) -> None:
    pulse.works(2, 2, 2)
    pulse.keeps(leases=False)
    assert of(pulse).live and not of(pulse).ready
    pulse.keeps(leases=True)
    assert of(pulse).ready


def test_a_worker_without_claims_is_ready_only_while_all_its_queues_are_paused(
    pulse: Pulse, clock: Clock
) -> None:
    clock.now += 14
    pulse.beat("main", 1)
    pulse.pauses(["mail"])
    assert not of(pulse).ready
    pulse.pauses(["mail", "default"])
    assert of(pulse).ready


def test_a_worker_that_drains_is_live_and_not_ready(pulse: Pulse) -> None:
    pulse.drains()
    assert of(pulse).live and not of(pulse).ready


def test_a_loop_that_was_given_up_is_a_reason_against_both(pulse: Pulse) -> None:
    pulse.restarts("upkeep", 1.0, "KeyError: 'x'")
    assert of(pulse).ready, "it is being started again"
    pulse.ends("upkeep", failed=True)
    assert of(pulse).not_alive == ("the loop upkeep could not be kept alive",)
    assert not of(pulse).ready


def test_a_loop_that_ended_as_it_was_told_is_no_reason(pulse: Pulse, clock: Clock) -> None:
    pulse.beat("bell", 0.5)
    pulse.ends("bell")
    clock.now += 3600
    pulse.beat("main", 1.0)
    assert of(pulse).live


def test_trouble_stays_until_the_loop_says_otherwise(pulse: Pulse) -> None:
    pulse.beat("keeper", 1.0, OSError("no route"))
    with pulse.asking("keeper"):
        pass
    assert pulse.reading().loops["keeper"].trouble == "no route"
    pulse.beat("keeper", 1.0)
    assert pulse.reading().loops["keeper"].trouble is None


def test_names_of_unknown_tasks_do_not_pile_up(pulse: Pulse) -> None:
    for number in range(1000):
        pulse.knows_not(f"t{number}")
    pulse.knows_not("t0")
    unknown = pulse.reading().unknown
    assert len(unknown) == MOST_UNKNOWN + 1
    assert (unknown["t0"], unknown[OTHERS]) == (2, 1000 - MOST_UNKNOWN)


def test_a_question_before_its_time_revokes_no_promise(pulse: Pulse, clock: Clock) -> None:
    pulse.beat("upkeep", 20.0)
    with pulse.asking("upkeep"):
        clock.now += 1
    clock.now += 45
    pulse.beat("main", 1.0)
    assert of(pulse).live
    clock.now += 5
    assert not of(pulse).live
