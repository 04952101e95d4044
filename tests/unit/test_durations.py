"""Durations and instants mean the same on every machine, or are refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.errors import BadTime
from emq_sql.rules.durations import LONGEST, aware, duration


@pytest.mark.parametrize(
    ("value", "expected"),
    [(30, timedelta(seconds=30)), (0.25, timedelta(milliseconds=250)), (LONGEST, LONGEST)],
)
def test_seconds_and_timedeltas_are_durations(value: object, expected: timedelta) -> None:
    assert duration(value, "lease") == expected


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (True, "bool"),
        (None, "NoneType"),
        ("30", "str"),
        (Decimal(3), "Decimal"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (-1, "negative"),
        (-0.5, "negative"),
        (timedelta(seconds=-1), "negative"),
        (float("-inf"), "no duration"),
        pytest.param(-(10**5000), "negative", id="huge negative"),
        pytest.param(10**5000, "ten years", id="huge"),
        (1e300, "ten years"),
        (timedelta.max, "ten years"),
        (86_400_000_000, "milliseconds"),
        (0, "zero"),
        (1e-9, "zero"),
        (timedelta(0), "zero"),
    ],
)
def test_what_is_no_duration_is_refused_by_the_name_of_the_setting(
    value: object, word: str
) -> None:
    with pytest.raises(BadTime, match=word) as caught:
        duration(value, "timeout of task 'mail.send'")
    assert "timeout of task 'mail.send'" in str(caught.value)
    assert caught.value.hint


def test_zero_is_a_duration_where_it_is_allowed() -> None:
    assert duration(0, "delay", allow_zero=True) == timedelta(0)
    with pytest.raises(BadTime):
        duration(-1, "delay", allow_zero=True)


@given(st.integers() | st.floats() | st.timedeltas() | st.booleans() | st.text())
def test_any_value_becomes_a_positive_duration_or_a_named_refusal(value: object) -> None:
    try:
        length = duration(value, "lease")
    except BadTime as error:
        assert str(error).isprintable()
    else:
        assert timedelta(0) < length <= LONGEST


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)), st.data())
def test_an_aware_datetime_stays_the_same_instant(naive: datetime, data: st.DataObject) -> None:
    zone = data.draw(
        st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), ZoneInfo("Europe/Berlin")])
    )
    instant = naive.replace(tzinfo=zone)
    assert aware(instant, "run_at") == instant.astimezone(UTC)
    assert aware(instant, "run_at").tzinfo is UTC


def test_a_naive_datetime_is_refused_with_the_remedy() -> None:
    with pytest.raises(BadTime, match=r"run_at is 2026-01-02T03:04:05, a naive.*timezone\.utc"):
        aware(datetime(2026, 1, 2, 3, 4, 5), "run_at")


@pytest.mark.parametrize("value", [None, 5, "2026-01-01T00:00:00Z", date(2026, 1, 1)])
def test_what_is_no_datetime_is_refused(value: object) -> None:
    with pytest.raises(BadTime, match=f"run_at must be .* not {type(value).__name__}"):
        aware(value, "run_at")


def test_an_instant_outside_the_years_of_utc_is_refused() -> None:
    with pytest.raises(BadTime, match="years 1 to 9999"):
        aware(datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "run_at")
