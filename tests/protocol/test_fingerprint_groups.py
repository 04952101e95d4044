"""Errors that differ in their particulars alone are one group; other kinds of errors never are."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emq_sql.rules.verdict import ERROR_LIMIT, error_text, shortened, storable
from tests.protocol.calls import Ledger

HOUSE = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
WORD = st.text("ghijklmnopqrstuvwxyz", min_size=1, max_size=8)  # never a hexadecimal
KINDS = st.from_regex(r"[A-Z][a-z]{1,8}(Error|Exception)", fullmatch=True)

number = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(-1e12, 1e12).map(lambda x: f"{x:.3f}"),
    st.integers(0, 10**12).map(lambda x: f"{x:,}"),
)
PARTICULARS: dict[str, st.SearchStrategy[str]] = {
    "number": number,
    "uuid": st.uuids().map(str),
    "hexadecimal": st.integers(0, 2**64).map(hex),
    "digest": st.text("0123456789abcdef", min_size=8, max_size=64).filter(
        lambda digest: any(c.isdigit() for c in digest)
    ),
    "address": st.tuples(st.ip_addresses(v=4), st.integers(1, 65535)).map(
        lambda a: f"{a[0]}:{a[1]}"
    ),
    "instant": st.datetimes().map(lambda at: at.isoformat()),
    "quoted text": st.text(max_size=40).map(repr),
    "quoted bytes": st.binary(max_size=40).map(repr),
    "double quotes": st.text(st.characters(exclude_characters='"\\\n'), max_size=40).map(
        lambda text: f'"{text}"'
    ),
    "list": st.lists(st.integers(0, 9999), min_size=1, max_size=9).map(str),
}


def fingerprint(ledger: Ledger, error: str) -> str:
    found: str = ledger.one("select emq.fingerprint('t', 'exception', %s)", storable(error))
    return found


@HOUSE
@given(data=st.data(), kind=KINDS, words=st.lists(WORD, min_size=2, max_size=5))
def test_particulars_do_not_split_a_group(
    ledger: Ledger, data: st.DataObject, kind: str, words: list[str]
) -> None:
    particular = PARTICULARS[data.draw(st.sampled_from(sorted(PARTICULARS)))]
    at = data.draw(st.integers(1, len(words)))
    one, two = (
        f"{kind}: {' '.join([*words[:at], data.draw(particular), *words[at:]])}" for _ in range(2)
    )
    assert fingerprint(ledger, one) == fingerprint(ledger, two)


def test_a_quoted_part_that_is_cut_off_does_not_either(ledger: Ledger) -> None:
    one, two = (f"KeyError: '{letter * 400}'" for letter in "ab")
    assert fingerprint(ledger, one) == fingerprint(ledger, two)


@HOUSE
@given(one=KINDS, two=KINDS, said=st.text(max_size=40))
def test_other_kinds_are_other_groups(ledger: Ledger, one: str, two: str, said: str) -> None:
    same = fingerprint(ledger, f"{one}: {said}") == fingerprint(ledger, f"{two}: {said}")
    assert same == (one == two)


@HOUSE
@given(one=st.lists(WORD, min_size=1, max_size=4), two=st.lists(WORD, min_size=1, max_size=4))
def test_other_words_are_other_groups(ledger: Ledger, one: list[str], two: list[str]) -> None:
    first, second = (f"ValueError: {' '.join(words)} 7" for words in (one, two))
    assert (fingerprint(ledger, first) == fingerprint(ledger, second)) == (one == two)


def group() -> None:
    raise ExceptionGroup("two bad", [ValueError("order 7"), KeyError("b")])


def nested() -> None:
    try:
        group()
    except ExceptionGroup as error:
        raise ExceptionGroup("outer", [error]) from error


def after_a_group() -> None:
    try:
        group()
    except ExceptionGroup as error:
        raise RuntimeError("gave up\nafter two") from error


def quoting() -> None:
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError as error:
        told = error_text(error)
    raise RuntimeError(f"a child said:\n{told}")


@pytest.mark.parametrize(
    ("raises", "line"),
    [
        (group, "ExceptionGroup: two bad (2 sub-exceptions); the first is ValueError: order 7"),
        (
            nested,
            "ExceptionGroup: outer (1 sub-exception); the first is ExceptionGroup: two bad"
            " (2 sub-exceptions)",
        ),
        (after_a_group, "RuntimeError: gave up"),
        (quoting, "RuntimeError: a child said:"),
        (lambda: compile("def f(:", "x.py", "exec"), "SyntaxError: invalid syntax"),
    ],
)
def test_the_headline_of_chains_groups_and_quoted_tracebacks(
    ledger: Ledger, raises: Callable[[], object], line: str
) -> None:
    try:
        raises()
    except BaseException as error:
        told = "".join(traceback.format_exception(error))
    assert ledger.one("select emq.headline(%s)", told) == line


def test_the_headline_of_a_traceback_that_was_cut_is_found(ledger: Ledger) -> None:
    frames = '  File "a.py", line 3, in f\n    g()\n'
    for count, said in ((400, "deep"), (4, "long" + "x" * ERROR_LIMIT)):
        whole = f"Traceback (most recent call last):\n{frames * count}ValueError: {said}\n"
        cut = shortened(whole, ERROR_LIMIT)
        assert len(cut) < len(whole)
        assert ledger.one("select emq.headline(%s)", cut) == f"ValueError: {said}"[:300]
    noted = f"The backoff raised KeyError: 1; the default one is used.\n{whole}"
    assert ledger.one("select emq.headline(%s)", noted) == f"ValueError: {said}"[:300]
