"""A worker parks when it finds a queue empty, and spends no statement on it while it is busy."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emq_sql.worker.parking import LAZY, Parking


class Parked:
    """What the bell was told, last and how often."""

    def __init__(self) -> None:
        self.now: frozenset[str] = frozenset()
        self.told = 0
        self.parking = Parking(self.tell)

    def tell(self, queues: frozenset[str]) -> None:
        assert queues != self.now, "a statement for nothing"
        self.now = queues
        self.told += 1


def test_a_queue_found_empty_is_waited_for_at_once_and_for_as_long_as_it_stays_empty() -> None:
    worker = Parked()
    worker.parking.drained(["a", "b"])
    assert worker.now == {"a", "b"}
    for now in range(3600):
        worker.parking.look(now, room=True)
        worker.parking.drained(["b", "a"])
    assert worker.told == 1
    assert worker.parking.due == float("inf")


def test_a_queue_whose_claims_come_back_full_is_given_up_after_a_while() -> None:
    worker = Parked()
    worker.parking.drained(["a", "b"])
    worker.parking.filled("a", 10.0)
    worker.parking.filled("a", 10.9)
    worker.parking.look(10.9, room=True)
    assert worker.now == {"a", "b"}
    assert worker.parking.due == 10.0 + LAZY
    worker.parking.look(10.0 + LAZY, room=True)
    assert worker.now == {"b"}


def test_nobody_is_waited_for_while_there_is_no_room_for_long() -> None:
    worker = Parked()
    worker.parking.drained(["a", "b"])
    worker.parking.look(10.0, room=False)
    worker.parking.look(10.5, room=True)  # a slot was free in between
    worker.parking.look(10.6, room=False)
    worker.parking.look(11.5, room=False)
    assert worker.now == {"a", "b"}
    worker.parking.look(worker.parking.due, room=False)
    assert worker.now == frozenset()
    assert worker.parking.due == float("inf")


@given(st.lists(st.tuples(st.booleans(), st.floats(0.0, 0.1)), max_size=300))
def test_at_most_two_statements_are_spent_for_each_time_of_waiting_out(
    claims: list[tuple[bool, float]],
) -> None:
    """Whatever comes: full and short claims in any order, in any steps of time."""
    worker = Parked()
    now = 0.0
    for full, step in claims:
        now += step
        worker.parking.look(now, room=True)
        if full:
            worker.parking.filled("a", now)
        else:
            worker.parking.drained(["a"])
            assert worker.now == {"a"}
    assert worker.told <= 2 * (now / LAZY) + 1
