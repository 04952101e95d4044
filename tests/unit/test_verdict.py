"""What a run that ended means: never lost over its result, its error text or its backoff."""

from __future__ import annotations

import json
import random
import sys
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.rules.backoff import Backoff
from emq_sql.rules.payload import UNSTORABLE
from emq_sql.rules.verdict import (
    ERROR_LIMIT,
    HEADLINE_LIMIT,
    Completed,
    Failed,
    error_text,
    headline,
    raised,
    returned,
    shortened,
    storable,
)
from tests.unit.strategies import NASTY_TEXT


def error_of(function: Any, *args: Any) -> BaseException:
    try:
        function(*args)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def fail(text: str) -> None:
    raise ValueError(text)


def test_a_handler_that_returned_has_completed_its_job() -> None:
    assert returned({"lines": 3}) == Completed('{"lines":3}')
    assert returned(None) == Completed("null")


def test_a_result_that_cannot_be_stored_completes_the_job_all_the_same() -> None:
    assert "object" in json.loads(returned(object()).result)[UNSTORABLE]
    assert "10 bytes" in json.loads(returned("x" * 11, limit=10).result)[UNSTORABLE]


def test_a_handler_that_raised_has_failed_with_its_traceback_and_a_delay() -> None:
    verdict = raised(
        error_of(fail, "no such order"), 2, Backoff.linear(7, jitter=False), random.Random(0)
    )
    assert verdict.delay == timedelta(seconds=21)
    assert "Traceback" in verdict.error
    assert "in fail" in verdict.error
    assert verdict.error.endswith("ValueError: no such order\n")


@pytest.mark.parametrize(
    "policy", [lambda _: 1 / 0, lambda _: None, lambda _: -1, lambda _: sys.exit(3), "5"]
)
def test_a_backoff_that_fails_does_not_keep_a_job_from_being_put_back(policy: Any) -> None:
    verdict = raised(error_of(fail, "x" * 20_000), 0, policy, random.Random(0))
    assert timedelta(0) < verdict.delay <= timedelta(seconds=2)
    assert verdict.error.startswith("The backoff raised ")
    assert verdict.error.endswith("xxx\n")
    assert len(verdict.error.encode()) <= ERROR_LIMIT


@given(NASTY_TEXT, st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_any_error_becomes_text_that_postgresql_can_hold(
    message: str, failures: int, rng: random.Random
) -> None:
    verdict = raised(error_of(fail, message), failures, None, rng)
    assert isinstance(verdict, Failed)
    assert "\0" not in verdict.error
    assert len(verdict.error.encode()) <= ERROR_LIMIT


def test_an_exception_that_cannot_be_printed_is_told_by_its_type() -> None:
    class UnprintableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    class NoNotesError(Exception):
        @property
        def __notes__(self) -> Any:
            raise RuntimeError("no")

    def throw(kind: type[Exception]) -> None:
        raise kind("x")

    assert "UnprintableError" in error_text(error_of(throw, UnprintableError))
    assert "NoNotesError" in error_text(error_of(throw, NoNotesError))


def test_endless_recursion_and_groups_of_errors_are_told_within_the_limit() -> None:
    def recurse() -> None:
        recurse()

    def group() -> None:
        raise ExceptionGroup("many", [ValueError(str(n) * 99) for n in range(200)])

    assert "RecursionError" in error_text(error_of(recurse))
    assert len(error_text(error_of(group)).encode()) <= ERROR_LIMIT


def test_a_long_error_keeps_its_beginning_and_its_end() -> None:
    text = error_text(error_of(fail, "begin " + "x" * 50_000 + " end"), 1000)
    assert text.startswith("Traceback")
    assert text.endswith(" end\n")
    assert "bytes left out" in text


@given(st.text(max_size=2000), st.integers(100, 1500))
def test_a_shortened_text_fits_and_a_short_one_is_left_alone(text: str, limit: int) -> None:
    short = shortened(text, limit)
    assert len(short.encode()) <= limit
    if len(text.encode()) <= limit:
        assert short == text
    else:
        head, tail = short.split("\n... ")[0], short.split(" left out ...\n")[-1]
        assert text.startswith(head)
        assert text.endswith(tail)
        # At most a character is lost at each cut.
        assert len(short.encode()) >= limit - 12


@given(NASTY_TEXT)
def test_storable_text_keeps_its_length_and_every_good_character(text: str) -> None:
    good = storable(text)
    good.encode()
    assert len(good) == len(text)
    assert all(b in (a, "\ufffd") for a, b in zip(text, good, strict=True))
    assert storable(good) == good


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            ValueError("no such order\n(Background at: https://a)\n+---"),
            "ValueError: no such order",
        ),
        (ValueError("\n\n  second line\n"), "ValueError: second line"),
        (ValueError(), "ValueError"),
        (json.JSONDecodeError("bad", "x", 0), "json.decoder.JSONDecodeError: bad: line 1"),
        (Silent("x"), f"{Silent.__module__}.Silent"),
        (
            ExceptionGroup("two\nof them", [KeyError("k"), ValueError("v")]),
            "ExceptionGroup: two; the first is KeyError: 'k'",
        ),
        (ValueError("\x1b[2J\0"), "ValueError: \\x1b[2J"),
    ],
)
def test_the_headline_is_the_type_and_the_first_line_of_what_is_said(
    error: BaseException, said: str
) -> None:
    assert headline(error).startswith(said)


def test_the_headline_is_of_the_exception_that_arrived() -> None:
    def chained() -> None:
        try:
            fail("the cause\nof it")
        except ValueError as error:
            raise LookupError("the outermost\nerror") from error

    verdict = raised(error_of(chained), 0, None, random.Random(0))
    assert verdict.headline == "LookupError: the outermost"


@given(NASTY_TEXT)
def test_a_headline_is_one_short_printable_line(text: str) -> None:
    for error in (ValueError(text), ExceptionGroup("g", [ValueError(text * 99)])):
        said = headline(error)
        assert said.isprintable()
        assert len(said) <= HEADLINE_LIMIT
