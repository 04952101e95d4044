"""Which queue is asked, for how many, and what happens to a claim without an answer."""

from __future__ import annotations

from datetime import timedelta
from time import monotonic

from hypothesis import given
from hypothesis import strategies as st

from emq_sql.job import Claimed
from emq_sql.worker.claiming import Claimer, Request
from emq_sql.worker.handler import Handler
from emq_sql.worker.settings import WorkerSettings
from tests.worker.making import claimed

LONG = timedelta(hours=1)


class Heard:
    """A bell that is heard; it remembers which queues were parked for."""

    heard = True

    def __init__(self) -> None:
        self.parked: list[set[str]] = []

    def park(self, queues: frozenset[str]) -> None:
        self.parked.append(set(queues))


def claimer(*queues: str, poll: timedelta = LONG) -> Claimer:
    settings = WorkerSettings(queues or ("a",), poll=poll)
    return Claimer(settings, "emq", {"t": Handler("t", print)})


def asked(of: Claimer, free: int = 1, *, along: bool = False) -> Request:
    request = of.next(free, 0.0, along=along)
    assert request is not None
    return request


@given(free=st.integers(-5, 0))
def test_without_a_free_slot_nothing_is_claimed(free: int) -> None:
    assert claimer().next(free, 0.0, along=True) is None


@given(free=st.integers(1, 1000))
def test_a_claim_asks_for_as_many_as_there_are_free_slots(free: int) -> None:
    assert asked(claimer(), free).n == free


def test_each_claim_has_a_nonce_of_its_own_of_forty_bits() -> None:
    of = claimer()
    nonces = {asked(of).nonce for _ in range(100)}
    assert len(nonces) == 100
    assert all(0 <= nonce < 1 << 40 for nonce in nonces)


def test_a_queue_that_was_found_empty_is_parked_for_and_asked_again_when_it_is_rung_for() -> None:
    bell = Heard()
    of = claimer("a", "b")
    of.bell = bell  # type: ignore[assignment]
    of.answered(asked(of), [])
    assert bell.parked == [{"a", "b"}]
    assert of.next(4, monotonic(), along=False) is None
    of.rung("nobody's")
    assert of.next(4, monotonic(), along=False) is None
    of.rung("b")
    assert "b" in asked(of).queues


def test_a_full_claim_says_that_there_may_be_more_and_a_short_one_that_there_is_none() -> None:
    of = claimer("a", "b", "c")
    request = asked(of, 2)
    assert request.queues == ("a", "b", "c")
    of.answered(request, [claimed(queue="b"), claimed(queue="b")])
    assert not of.all_empty
    assert asked(of, 2).queues == ("c", "b")  # a had nothing, c was not asked
    of.answered(asked(of, 2), [claimed(queue="c")])
    assert of.next(2, monotonic(), along=False) is None


def test_along_with_a_completion_even_an_empty_queue_is_asked() -> None:
    of = claimer("a", "b")
    of.answered(asked(of), [])
    assert [asked(of, along=True).queues for _ in range(3)] == [("a",), ("b",), ("a",)]


def test_all_are_empty_only_when_each_was_asked_last_in_vain() -> None:
    of = claimer("a", "b")
    assert not of.all_empty
    of.answered(asked(of, along=True), [])
    assert not of.all_empty
    of.answered(asked(of, along=True), [])
    assert of.all_empty
    of.rung(None)
    of.answered(asked(of), [claimed(queue="a")])
    assert not of.all_empty


def test_a_claim_in_doubt_is_read_back_until_it_is_found() -> None:
    of = claimer()
    request = asked(of, 3)
    of.doubt(request)
    job = claimed()
    answers: list[list[Claimed]] = [[], [], [job]]
    now = 0.0
    found = []
    while of.doubts:
        found += of.read_back(lambda _: answers.pop(0), now)
        now = of.next_due(claiming=False)
    assert [entry.claimed for entry in found] == [job]
    assert found[0].extended_at == request.sent
    assert answers == []


def test_a_claim_in_doubt_is_unread_until_the_database_has_answered_about_it() -> None:
    of = claimer()
    assert not of.unread
    of.doubt(asked(of))
    assert of.unread
    of.read_back(lambda _: [], 0.0)
    assert of.doubts
    assert not of.unread


def test_a_claim_in_doubt_that_never_shows_up_is_given_up() -> None:
    of = claimer()
    of.doubt(asked(of))
    reads, now = 0, 0.0
    while of.doubts:
        assert of.read_back(lambda _: [], now) == []
        reads, now = reads + 1, of.next_due(claiming=False)
    assert reads > 2
    assert of.next_due(claiming=False) == float("inf")


def test_a_job_of_an_unknown_task_has_no_handler() -> None:
    of = claimer()
    (entry,) = of.answered(asked(of), [claimed("nobody.knows")])
    assert entry.handler is None
