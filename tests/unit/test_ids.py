"""Ids are UUIDv7s that only grow, and a key always makes the same one."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.errors import BadJobId, BadTime
from emq_sql.minting import new_id
from emq_sql.rules.ids import Mint, check, id_time, job_id

NOW_MS = 1_796_000_000_000
NOW = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=NOW_MS)
HALF_A_DAY = 12 * 3_600_000


def run_in_threads(count: int, make: Callable[[], list[UUID]]) -> list[list[UUID]]:
    start = threading.Barrier(count)

    def run(_: int) -> list[UUID]:
        start.wait()
        return make()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


def mint_of(clock: list[int], rng: random.Random) -> Mint:
    readings = iter(clock)
    return Mint(lambda: next(readings), rng.getrandbits)


@given(
    st.lists(st.integers(NOW_MS - HALF_A_DAY // 2, NOW_MS + HALF_A_DAY // 2), max_size=50),
    st.randoms(use_true_random=False),
)
def test_ids_grow_strictly_although_the_clock_steps_back(
    clock: list[int], rng: random.Random
) -> None:
    mint = mint_of(clock, rng)
    ids = [mint() for _ in clock]
    assert all(before < after for before, after in pairwise(ids))


@given(st.integers(-5, 2**48 + 5), st.randoms(use_true_random=False))
def test_each_id_is_a_version_7_of_its_instant(now: int, rng: random.Random) -> None:
    made = mint_of([now], rng)()
    assert made.version == 7
    assert made.variant == RFC_4122
    assert made.int >> 80 == min(max(now, 0), 2**48 - 1)


def test_a_clock_set_back_by_more_than_half_a_day_is_followed() -> None:
    mint = mint_of([NOW_MS + 2 * HALF_A_DAY, NOW_MS, NOW_MS], random.Random(0))
    ahead, back, next_one = mint(), mint(), mint()
    assert check(back, NOW) == back < next_one < ahead
    with pytest.raises(BadJobId):
        check(ahead, NOW - timedelta(milliseconds=1))


def test_a_millisecond_has_room_for_more_ids_than_it_has_time_for() -> None:
    largest_steps = Mint(lambda: NOW_MS, lambda bits: (1 << bits) - 1)
    assert {id_time(largest_steps()) for _ in range(5_000)} == {NOW}


def test_a_full_millisecond_runs_over_into_the_next() -> None:
    mint = Mint(lambda: NOW_MS, lambda bits: (1 << bits) - 1)
    # Each id takes the largest steps there are: 2**73 of room in steps of 2**32 is 2**41 ids, so
    # the room is taken by hand.
    first = mint()
    mint._tail = (1 << 74) - 1
    second = mint()
    assert id_time(second) == id_time(first) + timedelta(milliseconds=1)  # type: ignore[operator]
    assert first < second < mint()


def test_one_thread_at_a_time_is_inside_the_mint() -> None:
    inside: list[int] = []
    overlaps: list[int] = []

    def now_ms() -> int:
        inside.append(1)
        time.sleep(0)  # an invitation to the other threads
        overlaps.append(len(inside))
        inside.pop()
        return NOW_MS

    mint = Mint(now_ms, random.Random(0).getrandbits)
    run_in_threads(8, lambda: [mint() for _ in range(300)])
    assert set(overlaps) == {1}


def test_many_threads_never_make_the_same_id_and_each_sees_its_own_grow() -> None:
    lists = run_in_threads(8, lambda: [new_id() for _ in range(2_000)])
    assert len({made for into in lists for made in into}) == 16_000
    assert all(into == sorted(into) for into in lists)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_repeat_its_parents_ids() -> None:
    mint = Mint(lambda: NOW_MS, random.SystemRandom().getrandbits)
    mint()
    # A thread that holds the lock while another forks: the child must not wait for it.
    with mint._lock:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            mint.reseed()
            os.write(write, b"".join(mint().bytes for _ in range(100)))
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        made = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    theirs = {made[at : at + 16] for at in range(0, len(made), 16)}
    assert len(theirs) == 100
    assert not theirs & {mint().bytes for _ in range(100)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_process_wide_mint_starts_afresh_in_a_forked_child() -> None:
    # Both processes would count on from the same tail; afresh, the random tails lie far apart.
    new_id()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        from emq_sql import minting

        os.write(write, minting._mint._last_ms.to_bytes(8, signed=True))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert int.from_bytes(pipe.read(), signed=True) == -1
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("key", "at", "expected"),
    [
        # Answers of emq.job_id on PostgreSQL 15 and 18.
        ("order-42", "2026-11-29T12:34:56.789999+00:00", "01a2274d-2495-7c75-8209-da955fb755cc"),
        ("", "1970-01-01T00:00:00+00:00", "00000000-0000-7204-a980-0998ecf8427e"),
        ("é–漢字 😀", "2024-02-29T23:59:59.999999+05:45", "018df613-a89f-7ffe-9a44-035e7b7a4991"),
        ("x" * 300, "9999-12-31T23:59:59.999999+00:00", "e677d21f-dbff-78a5-991e-d59db796af28"),
    ],
)
def test_a_key_makes_the_same_id_as_in_sql(key: str, at: str, expected: str) -> None:
    assert str(job_id(key, datetime.fromisoformat(at))) == expected


AFTER_1970 = st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(9998, 1, 1))
KEYS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(KEYS, AFTER_1970)
def test_an_id_of_a_key_carries_its_instant_and_is_a_version_7(key: str, at: datetime) -> None:
    at = at.replace(tzinfo=UTC)
    made = job_id(key, at)
    assert made.version == 7
    assert made.variant == RFC_4122
    assert id_time(made) == at.replace(microsecond=at.microsecond // 1000 * 1000)
    assert made == job_id(key, at.astimezone(timezone(timedelta(hours=-7))))


@given(KEYS, KEYS)
def test_two_keys_make_two_ids(one: str, other: str) -> None:
    assert (job_id(one, NOW) == job_id(other, NOW)) == (one == other)


@pytest.mark.parametrize("key", [42, None, b"order", "a\0b", "a\ud800"])
def test_a_key_that_the_database_could_not_read_is_refused(key: object) -> None:
    with pytest.raises(BadJobId):
        job_id(key, NOW)  # type: ignore[arg-type]


@pytest.mark.parametrize("at", [datetime(2026, 1, 1), datetime(1969, 12, 31, tzinfo=UTC)])
def test_an_id_cannot_be_dated_naively_or_before_1970(at: datetime) -> None:
    with pytest.raises(BadTime):
        job_id("order", at)


@given(st.uuids() | st.integers(0, 2**128 - 1).map(lambda number: UUID(int=number)))
def test_the_instant_of_any_uuid_is_read_or_there_is_none(value: UUID) -> None:
    at = id_time(value)
    assert (at is not None) == (str(value)[14] == "7")


@pytest.mark.parametrize(
    "value", [UUID(int=0), "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "42", "", 42, None]
)
def test_an_id_that_is_no_version_7_is_refused_with_the_remedy(value: object) -> None:
    with pytest.raises(BadJobId, match=r"job_id\(key, at\)"):
        check(value)


def test_an_id_is_accepted_as_text_and_up_to_a_day_ahead() -> None:
    tomorrow = job_id("order", NOW + timedelta(days=1))
    assert check(str(tomorrow), NOW) == check(tomorrow, NOW) == tomorrow
    with pytest.raises(BadJobId, match="more than a day ahead"):
        check(tomorrow, NOW - timedelta(milliseconds=1))


def test_without_an_instant_only_the_layout_of_an_id_is_looked_at() -> None:
    far = UUID(int=((2**48 - 1) << 80) | (7 << 76))
    assert check(far) == far
    assert id_time(far) == datetime.max.replace(tzinfo=UTC)
