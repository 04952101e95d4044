"""Leases are extended in time, taken for lost in time, and fenced without ambiguity."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.errors import BadSetting, BadTime
from emq_sql.rules import lease

LEASES = st.timedeltas(min_value=lease.SHORTEST, max_value=lease.LONGEST)
INSTANTS = st.floats(min_value=0, max_value=1e8)
ATTEMPTS = st.integers(0, lease.LARGEST_ATTEMPTS)
NONCES = st.integers(0, lease.LARGEST_NONCE)


@pytest.mark.parametrize("value", [0.2, 30, timedelta(days=1)])
def test_a_lease_may_last_from_a_fifth_of_a_second_to_a_day(value: object) -> None:
    assert lease.lease_length(value).total_seconds() > 0


@pytest.mark.parametrize("value", [0.1999, 86_400.001, timedelta(days=2)])
def test_a_lease_outside_these_bounds_is_refused(value: object) -> None:
    with pytest.raises(BadSetting, match="lease of queue 'mail' is"):
        lease.lease_length(value, "lease of queue 'mail'")


@pytest.mark.parametrize("value", [0, -1, True, "30", None, float("nan")])
def test_a_lease_that_is_no_duration_is_refused(value: Any) -> None:
    with pytest.raises(BadTime, match="lease"):
        lease.lease_length(value)


@given(LEASES)
def test_a_lease_is_extended_at_a_third_of_its_length(length: timedelta) -> None:
    assert abs(lease.extend_interval(length) * 3 - length) < timedelta(microseconds=3)


@given(LEASES, st.timedeltas(min_value=timedelta(microseconds=1), max_value=lease.LONGEST * 2))
def test_an_interval_is_accepted_exactly_up_to_a_third_of_the_lease(
    length: timedelta, interval: timedelta
) -> None:
    if interval <= length / 3:
        assert lease.extend_interval(length, interval) == interval
    else:
        with pytest.raises(BadSetting, match="over a third"):
            lease.extend_interval(length, interval)


@given(LEASES, INSTANTS)
def test_an_extension_may_fail_once_before_the_lease_must_be_taken_for_lost(
    length: timedelta, sent_at: float
) -> None:
    usual = lease.extend_interval(length)
    again = lease.next_due(lease.next_due(sent_at, usual), usual)
    assert not lease.is_lost(sent_at, length, again)


@given(LEASES, INSTANTS)
def test_a_lease_is_lost_from_its_end_on_and_not_before(length: timedelta, sent_at: float) -> None:
    end = lease.lapses_at(sent_at, length)
    assert lease.is_lost(sent_at, length, end)
    assert lease.is_lost(sent_at, length, end + 1)
    assert not lease.is_lost(sent_at, length, sent_at + length.total_seconds() * 0.99)


@given(ATTEMPTS, NONCES)
def test_a_fence_gives_back_what_it_was_made_of_and_fits_a_bigint(
    attempts: int, nonce: int
) -> None:
    made = lease.fence(attempts, nonce)
    assert (lease.attempts_of(made), lease.nonce_of(made)) == (attempts, nonce)
    assert 0 <= made < 2**63


@given(ATTEMPTS, NONCES, ATTEMPTS, NONCES)
def test_a_later_claim_has_a_larger_fence_and_no_two_claims_the_same(
    one: int, nonce: int, other: int, other_nonce: int
) -> None:
    first, second = lease.fence(one, nonce), lease.fence(other, other_nonce)
    assert (first == second) == ((one, nonce) == (other, other_nonce))
    if one < other:
        assert first < second


@pytest.mark.parametrize(("attempts", "nonce"), [(-1, 0), (2**23, 0), (1, -1), (1, 2**40)])
def test_parts_that_would_spill_into_each_other_are_refused(attempts: int, nonce: int) -> None:
    with pytest.raises(ValueError, match=r"must be|bits"):
        lease.fence(attempts, nonce)
