"""One job on its last chance is held at a time, and nothing else begins in the first of its run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.worker import alone
from emq_sql.worker.alone import Alone
from emq_sql.worker.endings import Ending, Released, Snoozed
from emq_sql.worker.entry import Entry
from emq_sql.worker.handler import Handler
from tests.worker.making import entry
from tests.worker.room import Room

BACK = Released()


class Keeping:
    """What is claimed, and what becomes of it."""

    def __init__(self, *, burst: bool = False) -> None:
        self.room = Room(slots=4)
        self.held = self.room.held
        self.alone = Alone(self.held, self.room.executor, burst=burst)

    def claim(self, *entries: Entry) -> list[Ending | None]:
        """How each goes back to the line; None: it is begun. What was lost twice is on its last."""
        self.held.add(entries)
        back = self.alone.sort(entries, [one for one in entries if one.claimed.stalled == 2])
        for one in back:
            self.held.remove(one)
        return [back.get(one) for one in entries]

    def begin(self) -> tuple[threading.Event, Entry]:
        """A handler that runs in this process until it is let go."""
        go = threading.Event()
        return go, self.room.submit(go.wait)


@pytest.fixture
def keeping() -> Iterator[Keeping]:
    made = Keeping()
    yield made
    made.room.executor.close()


def job(stalled: int = 0, attempts: int | None = None) -> Entry:
    made = entry(Handler("t", print))
    lease = replace(made.lease, attempts=attempts or stalled + 1)
    made.claimed = replace(made.claimed, stalled=stalled, lease=lease)
    return made


def test_of_one_claim_the_first_on_its_last_chance_stays_and_nothing_else(keeping: Keeping) -> None:
    assert keeping.claim(job(), job(2), job(1), job(2)) == [BACK, None, BACK, BACK]


def test_those_that_may_be_lost_once_more_are_begun_together(keeping: Keeping) -> None:
    assert keeping.claim(job(), job(1), job(1)) == [None, None, None]
    assert keeping.alone.not_before() is None
    assert keeping.alone.most(3) == 3


def test_nothing_is_claimed_nor_begun_in_the_first_seconds_of_its_run(keeping: Keeping) -> None:
    last = job(2)
    keeping.claim(last)
    assert keeping.alone.not_before() is not None  # it has not begun
    assert keeping.held.starts(last)
    until = keeping.alone.not_before()
    assert until is not None
    assert 0 < until - monotonic() <= alone.ALONE
    assert keeping.claim(job(), job(2)) == [BACK, BACK]  # of a claim whose answer had been lost


def test_then_others_are_begun_but_none_on_its_last_chance(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "ALONE", 0.0)
    last = job(2)
    keeping.claim(last)
    assert keeping.held.starts(last)
    assert keeping.alone.not_before() is None
    assert keeping.alone.most(3) == 3
    fresh, other, lost = keeping.claim(job(), job(2), job(1))
    assert (fresh, lost) == (None, None)
    assert isinstance(other, Snoozed)  # at the head of the line it would be claimed at once
    keeping.held.remove(last)
    assert keeping.claim(job(2)) == [None]


def test_for_a_process_that_does_not_start_nobody_waits_for_ever(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "START", 0.0)
    keeping.claim(job(2))
    assert keeping.alone.not_before() is None


def test_in_a_burst_it_is_alone_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone, "ALONE", 0.0)
    keeping = Keeping(burst=True)
    last = job(2)
    keeping.claim(last)
    assert keeping.held.starts(last)
    assert keeping.alone.not_before() == float("inf")
    keeping.held.remove(last)
    assert keeping.alone.not_before() is None
    keeping.room.executor.close()


def test_after_one_the_next_are_claimed_by_ones_until_one_may_be_lost_again(
    keeping: Keeping,
) -> None:
    for _ in range(3):
        last = job(2)
        assert keeping.claim(last) == [None]
        keeping.held.remove(last)
        assert keeping.alone.most(4) == 1
        assert keeping.alone.most(0) == 0
    assert keeping.claim(job()) == [None]
    assert keeping.alone.most(4) == 4


def test_while_handlers_run_in_this_process_it_goes_back_and_nothing_is_claimed(
    keeping: Keeping,
) -> None:
    go, _ = keeping.begin()
    assert keeping.claim(job(), job(2), job(2)) == [None, BACK, BACK]
    until = keeping.alone.not_before()
    assert until is not None
    assert 0 < until - monotonic() <= alone.PATIENCE
    go.set()
    keeping.room.ended()
    assert keeping.alone.not_before() is None
    assert keeping.alone.most(4) == 4  # so that it comes, whatever is before it in the line
    assert keeping.claim(job(), job(2)) == [BACK, None]


def test_handlers_that_outlast_the_patience_are_no_quick_killers(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "PATIENCE", 0.0)
    go, _ = keeping.begin()
    assert keeping.claim(job(2)) == [BACK]
    assert keeping.alone.not_before() is None
    last = job(2)
    assert keeping.claim(last) == [None]
    keeping.held.remove(last)
    assert keeping.claim(job()) == [None]  # which has proved nothing yet
    assert keeping.claim(job(2)) == [BACK]
    go.set()


@given(attempts=st.integers(3, 1 << 22))
def test_one_that_comes_in_vain_waits_longer_each_time_within_bounds(attempts: int) -> None:
    keeping = Keeping()
    made = Alone(keeping.held, keeping.room.executor, burst=False)
    waits = [made._pause(job(2, n)) for n in (attempts, attempts + 1)]
    keeping.room.executor.close()
    assert all(timedelta(seconds=1) <= wait <= timedelta(seconds=30) for wait in waits)
    longest = min(2.0 * 2 ** min(attempts - 3, 10), 30.0)
    assert waits[0] <= timedelta(seconds=longest)
