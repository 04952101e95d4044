"""Retries are spread out, never early, never beyond the cap."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.errors import BadSetting, BadTime
from emq_sql.rules.backoff import DEFAULT, Backoff, as_backoff, delay, unknown_task_delay

SECONDS = st.floats(min_value=0, max_value=100_000, allow_nan=False)
FAILURES = st.integers(min_value=-3, max_value=20) | st.integers(min_value=0, max_value=10**9)


def nominal(curve: Backoff, failures: int) -> timedelta:
    plain = Backoff(curve.kind, curve.base, curve.cap, curve.minimum, jitter=False)
    return delay(plain, failures, random.Random(0))


@st.composite
def curves(draw: st.DrawFn) -> Backoff:
    low, base, cap = sorted(draw(st.tuples(SECONDS, SECONDS, SECONDS)))
    jitter = draw(st.booleans())
    kind = draw(st.sampled_from([Backoff.exponential, Backoff.linear]))
    minimum = draw(st.none() | st.just(low))
    return draw(
        st.just(kind(base, cap=cap, minimum=minimum, jitter=jitter))
        | st.just(Backoff.constant(base, minimum=minimum, jitter=jitter))
    )


@given(curves(), FAILURES, st.randoms(use_true_random=False))
def test_a_delay_is_never_below_the_minimum_nor_over_the_cap(
    curve: Backoff, failures: int, rng: random.Random
) -> None:
    assert curve.minimum <= delay(curve, failures, rng) <= curve.cap


@given(curves(), st.integers(min_value=1, max_value=200))
def test_the_nominal_delay_never_shrinks_with_the_failures(curve: Backoff, failures: int) -> None:
    assert nominal(curve, failures) <= nominal(curve, failures + 1)


@pytest.mark.parametrize("failures", [1, 2, 3, 5, 12, 10_000])
def test_a_thousand_jobs_that_failed_together_spread_over_half_the_nominal_delay(
    failures: int,
) -> None:
    rng = random.Random(failures)
    delays = [delay(None, failures, rng) for _ in range(1000)]
    assert max(delays) - min(delays) >= nominal(DEFAULT, failures) / 2
    assert min(delays) >= DEFAULT.minimum
    assert max(delays) <= nominal(DEFAULT, failures)
    assert len(set(delays)) > 950


def test_the_default_doubles_from_two_seconds_to_an_hour() -> None:
    seconds = [nominal(DEFAULT, n).total_seconds() for n in (1, 2, 3, 11, 12, 13, 10_000)]
    assert seconds == [2, 4, 8, 2048, 3600, 3600, 3600]


def test_fewer_failures_than_one_count_as_one() -> None:
    assert nominal(DEFAULT, 0) == nominal(DEFAULT, -7) == nominal(DEFAULT, 1)


def test_linear_and_constant_curves_are_what_they_say() -> None:
    rng = random.Random(0)
    linear = Backoff.linear(10, cap=35, jitter=False)
    assert [delay(linear, n, rng).total_seconds() for n in (1, 2, 3, 4, 9)] == [10, 20, 30, 35, 35]
    constant = Backoff.constant(timedelta(minutes=5), jitter=False)
    assert [delay(constant, n, rng).total_seconds() for n in (1, 2, 50)] == [300, 300, 300]


def test_a_constant_of_zero_retries_at_once() -> None:
    assert delay(Backoff.constant(0), 1, random.Random(0)) == timedelta(0)


def test_a_function_gives_its_own_delays_within_its_bounds() -> None:
    rng = random.Random(0)
    assert delay(lambda failures: failures * 7, 3, rng) == timedelta(seconds=21)
    assert delay(lambda _: timedelta(minutes=1), 3, rng) == timedelta(minutes=1)
    bounded = Backoff.custom(lambda failures: 10.0**failures, cap=60, minimum=20)
    assert [delay(bounded, n, rng).total_seconds() for n in (1, 2)] == [20, 60]


@pytest.mark.parametrize("answer", [None, "5", -1, float("nan"), True, 10**12])
def test_a_function_that_answers_no_duration_is_refused_by_name(answer: Any) -> None:
    with pytest.raises(BadTime, match="delay of the backoff"):
        delay(lambda _: answer, 1, random.Random(0))


def test_a_setting_may_be_a_curve_a_function_seconds_or_nothing() -> None:
    assert as_backoff(None) is DEFAULT
    assert as_backoff(DEFAULT) is DEFAULT
    assert as_backoff(5) == as_backoff(timedelta(seconds=5)) == Backoff.constant(5)
    assert as_backoff(abs).kind == "custom"


@pytest.mark.parametrize("setting", ["5", [1, 2], object()])
def test_a_setting_that_makes_no_delay_is_refused(setting: Any) -> None:
    with pytest.raises(
        BadSetting, match=f"backoff of 'mail.send' is of type {type(setting).__name__}"
    ):
        as_backoff(setting, "backoff of 'mail.send'")


@pytest.mark.parametrize("setting", [True, -1, float("inf")])
def test_a_setting_of_seconds_that_are_no_duration_is_refused(setting: Any) -> None:
    with pytest.raises(BadTime, match="backoff"):
        as_backoff(setting)


def test_curves_that_cannot_work_are_refused() -> None:
    with pytest.raises(BadSetting, match=r"minimum .* over its cap"):
        Backoff.exponential(1, cap=5, minimum=6)
    with pytest.raises(BadSetting, match=r"base .* over its cap"):
        Backoff.linear(10, cap=5)
    with pytest.raises(BadSetting, match="needs a function"):
        Backoff("custom", timedelta(1), timedelta(1), timedelta(1))
    with pytest.raises(BadSetting, match="has no function"):
        Backoff("linear", timedelta(1), timedelta(1), timedelta(1), function=abs)
    with pytest.raises(BadTime, match="backoff base"):
        Backoff.exponential(-1)


def test_an_unknown_task_is_looked_at_again_after_five_seconds_up_to_an_hour() -> None:
    seconds = [unknown_task_delay(n).total_seconds() for n in (0, 1, 2, 3, 10, 11, 10_000_000)]
    assert seconds == [5, 5, 10, 20, 2560, 3600, 3600]
