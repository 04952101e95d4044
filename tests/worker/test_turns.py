"""In which order queues are asked, and how soon one that was empty is asked again."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from emq_sql.worker.turns import SHORTEST, Turns

NAMES = ("a", "b", "c", "d", "e")
POLL = timedelta(seconds=1)

queues = st.integers(1, 5).map(lambda n: NAMES[:n])


def ask(turns: Turns, n: int, there: dict[str, int], now: float, heard: bool = True) -> list[str]:
    """Ask for n jobs as the server would answer; the queues of those that came."""
    asked = turns.due(now)
    gave: dict[str, int] = {}
    for queue in asked:
        took = min(there.get(queue, 0), n - sum(gave.values()))
        there[queue] = there.get(queue, 0) - took
        gave[queue] = took
    turns.answered(asked, n, gave, now, heard=heard)
    return [queue for queue, took in gave.items() for _ in range(took)]


@given(queues=queues, rounds=st.integers(1, 5))
def test_queues_that_are_always_full_are_served_equally_often(
    queues: tuple[str, ...], rounds: int
) -> None:
    turns = Turns(queues, POLL)
    there = dict.fromkeys(queues, 1000)
    served = [ask(turns, 1, there, 0.0) for _ in range(rounds * len(queues))]
    assert served == [[queue] for queue in queues] * rounds


@given(
    queues=queues,
    there=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 20)),
    n=st.integers(1, 8),
)
def test_every_job_is_taken_and_then_all_are_empty(
    queues: tuple[str, ...], there: dict[str, int], n: int
) -> None:
    there = {queue: there.get(queue, 0) for queue in queues}
    turns = Turns(queues, POLL)
    asked = 0
    while turns.due(0.0):
        ask(turns, n, there, 0.0)
        asked += 1
    assert sum(there.values()) == 0
    ask(turns, n, there, 2.0)
    assert turns.all_empty
    assert asked <= 20 * len(queues) / n + len(queues) + 1


@given(queues=queues, heard=st.booleans(), n=st.integers(1, 200))
def test_an_empty_queue_is_asked_again_within_a_poll_however_long_it_was_empty(
    queues: tuple[str, ...], heard: bool, n: int
) -> None:
    turns = Turns(queues, POLL)
    now = 0.0
    for _ in range(n):
        ask(turns, 4, {}, now, heard)
        assert now < turns.next_due <= now + POLL.total_seconds()
        now = turns.next_due
        assert turns.due(now) == queues  # all with one statement


def test_without_a_bell_the_looks_after_a_job_grow_from_short_to_the_poll() -> None:
    turns = Turns(("a",), POLL)
    now, looks = 0.0, []
    ask(turns, 4, {"a": 1}, now, heard=False)
    while len(looks) < 10:
        looks.append(turns.next_due - now)
        now = turns.next_due
        ask(turns, 4, {}, now, heard=False)
    assert looks[0] <= SHORTEST
    assert all(later > 1.7 * sooner for sooner, later in pairwise(looks[:5]))
    assert all(0.9 <= look <= 1.0 for look in looks[5:])


def test_with_a_bell_no_look_is_spent_between_two_polls() -> None:
    turns = Turns(("a",), POLL)
    ask(turns, 4, {"a": 1}, 0.0)
    assert turns.next_due >= 0.9


@given(poll=st.floats(0.01, 3600))
def test_a_queue_that_was_rung_for_takes_along_those_that_are_almost_due(poll: float) -> None:
    turns = Turns(("a", "b"), timedelta(seconds=poll))
    ask(turns, 4, {}, 0.0)
    turns.rung("b")
    assert turns.due(0.0) == ("b",)
    turns.answered(("b",), 4, {}, 0.8 * poll, heard=True)
    turns.rung("a")
    assert turns.due(1.2 * poll) == ("a",)
    assert turns.due(1.9 * poll) == ("a", "b")


def test_a_paused_queue_is_not_asked_for_a_poll_and_holds_up_no_other() -> None:
    turns = Turns(("a", "b"), POLL)
    turns.hold_back({"a": 10.0})
    assert turns.due(10.5) == ("b",)
    assert [turns.along(10.5), turns.along(10.5)] == [("b",), ("b",)]
    turns.answered(("b",), 1, {"b": 1}, 10.5, heard=True)
    assert turns.next_due == 0.0
    turns.answered(("b",), 1, {}, 10.5, heard=True)
    assert turns.next_due == 11.0
    assert turns.due(11.0) == ("a",)
    turns.hold_back({"a": 11.0, "b": 11.0})
    assert turns.due(11.9) == turns.along(11.9) == ()
