"""Which queue is asked, for how many, and what happens to a claim without an answer."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from emq_sql.job import Claimed
from emq_sql.worker.claiming import Claimer, Request
from emq_sql.worker.handler import Handler
from emq_sql.worker.settings import WorkerSettings
from tests.worker.making import claimed

NAMES = ("a", "b", "c", "d", "e")
LONG = timedelta(hours=1)


def claimer(*queues: str, poll: timedelta = LONG) -> Claimer:
    settings = WorkerSettings(queues or ("a",), poll=poll)
    return Claimer(settings, "emq", {"t": Handler("t", print)})


def asked(of: Claimer, free: int = 1, *, along: bool = False) -> Request:
    request = of.next(free, 0.0, along=along)
    assert request is not None
    return request


@given(n=st.integers(1, 5), rounds=st.integers(1, 5))
def test_queues_that_are_always_full_are_asked_equally_often(n: int, rounds: int) -> None:
    of = claimer(*NAMES[:n])
    order = []
    for _ in range(n * rounds):
        request = asked(of)
        of.answered(request, [claimed()])
        order.append(request.queue)
    assert order == list(NAMES[:n]) * rounds


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


def test_a_queue_that_was_empty_is_left_alone_until_its_poll_or_its_bell() -> None:
    of = claimer("a", "b")
    of.answered(asked(of), [])
    of.answered(asked(of), [])
    assert of.next(4, 0.0, along=False) is None
    of.rung("b")
    assert asked(of).queue == "b"
    of.rung("nobody's")
    of.answered(asked(of), [])
    assert of.next(4, 0.0, along=False) is None
    of.rung(None)
    assert {asked(of).queue, asked(of).queue} == {"a", "b"}


def test_along_with_a_completion_even_an_empty_queue_is_asked() -> None:
    of = claimer()
    of.answered(asked(of), [])
    assert asked(of, along=True).queue == "a"


def test_all_are_empty_only_when_each_was_asked_last_in_vain() -> None:
    of = claimer("a", "b")
    assert not of.all_empty
    of.answered(asked(of), [])
    assert not of.all_empty
    of.answered(asked(of), [])
    assert of.all_empty
    of.rung(None)
    of.answered(asked(of), [claimed()])
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
