"""Settings by name: what is read from words, and what is written for the database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.errors import BadInput, BadName, BadSetting, BadTime
from emq_sql.rules import durations, settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", timedelta(seconds=30)),
        ("30", timedelta(seconds=30)),
        ("1.5h", timedelta(minutes=90)),
        ("250ms", timedelta(milliseconds=250)),
        ("15m", timedelta(minutes=15)),
        (" 7D ", timedelta(days=7)),
        ("2w", timedelta(days=14)),
        ("0s", timedelta(0)),
    ],
)
def test_a_number_and_a_unit_are_a_duration(text: str, expected: timedelta) -> None:
    assert durations.written(text, "retention", allow_zero=True) == expected


@pytest.mark.parametrize(
    "text", ["", "h", "1 h", "1y", "-1s", "1e3", "1h30m", "nan", "٣s", "9999999d", "0s", "1.s"]
)
def test_what_is_no_duration_is_refused_by_the_name_of_the_setting(text: str) -> None:
    with pytest.raises(BadTime, match="retention"):
        durations.written(text, "retention")


@given(st.timedeltas(min_value=timedelta(0), max_value=durations.LONGEST))
def test_a_duration_that_is_shown_is_read_as_the_same_to_the_millisecond(
    length: timedelta,
) -> None:
    length = timedelta(milliseconds=length // timedelta(milliseconds=1))
    shown = durations.in_units(length)
    assert durations.written(shown, "x", allow_zero=True) == length


def test_words_are_written_for_the_database_and_none_resets() -> None:
    words = [
        "lease=90s", "max_active=3", "retention=7d", "replay_within=never", "quarantine=sick",
        "on_dead=shop.tell", "max_attempts=none",
    ]  # fmt: skip
    assert settings.parsed(words) == {
        "lease": "0 days 90.000000 seconds",
        "max_active": 3,
        "retention": "7 days 0.000000 seconds",
        "replay_within": "0 days 0.000000 seconds",
        "quarantine": "sick",
        "on_dead": "shop.tell",
        "max_attempts": None,
    }
    assert settings.parsed(["export_first=Yes"], settings.LEDGER) == {"export_first": True}


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("max_activ=1", BadSetting),
        ("max_active", BadSetting),
        ("max_active=", BadSetting),
        ("max_active=0", BadSetting),
        ("max_active=2147483648", BadSetting),
        ("max_attempts=32768", BadSetting),
        ("max_active=1.5", BadSetting),
        ("max_active=٣", BadSetting),
        ("lease=0.1s", BadSetting),
        ("lease=2d", BadSetting),
        ("retention=0", BadTime),
        ("retention=never", BadTime),
        ("replay_within=-1s", BadTime),
        ("quarantine=Sick", BadName),
        ("on_dead=", BadName),
        ("export_first=yes", BadSetting),
        ("=1", BadSetting),
    ],
)
def test_a_word_that_is_none_is_refused(word: str, error: type[BadInput]) -> None:
    with pytest.raises(error):
        settings.parsed([word])


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(BadSetting, match="twice"):
        settings.parsed(["max_active=1", "max_active=none"])
    with pytest.raises(BadSetting, match="yes or no"):
        settings.parsed(["export_first=perhaps"], settings.LEDGER)


def test_each_setting_of_a_queue_has_its_keyword() -> None:
    assert set(settings.QueueSettings.__annotations__) == set(settings.QUEUE)
