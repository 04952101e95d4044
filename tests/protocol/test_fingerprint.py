"""headline and fingerprint: what says most of an error, and what groups dead letters."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest

from tests.protocol.calls import Ledger


def told(function: Callable[[], object]) -> str:
    try:
        function()
    except BaseException as error:
        return "".join(traceback.format_exception(error))
    raise AssertionError("it did not raise")


def deep(n: int) -> None:
    if n:
        deep(n - 1)
    raise ValueError('no luck\nwith the second line\n  File "of its own"')


def chained() -> None:
    try:
        deep(0)
    except ValueError as error:
        raise KeyError("left") from error


def headline(ledger: Ledger, error: str | None) -> str | None:
    found: str | None = ledger.one("select emq.headline(%s)", error)
    return found


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (told(lambda: 1 / 0), "ZeroDivisionError: division by zero"),
        (told(lambda: {}["a b"]), "KeyError: 'a b'"),
        (told(chained), "KeyError: 'left'"),
        ("the process was ended by SIGKILL", "the process was ended by SIGKILL"),
        ("\n  \n at last\nand more", "at last"),
        ("", None),
        (None, None),
    ],
)
def test_the_headline_is_the_line_that_says_most(
    ledger: Ledger, error: str | None, line: str | None
) -> None:
    assert (headline(ledger, error) or None) == line


def test_a_message_of_several_lines_gives_its_first(ledger: Ledger) -> None:
    assert headline(ledger, told(lambda: (_ for _ in ()).throw(RuntimeError("one\ntwo")))) == (
        "RuntimeError: one"
    )


def fingerprint(
    ledger: Ledger, error: str | None, task: str = "t", reason: str = "exception"
) -> str:
    found: str = ledger.one("select emq.fingerprint(%s, %s, %s)", task, reason, error)
    return found


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("ValueError: order 17 is gone", "ValueError: order 18 is gone"),
        ("KeyError: 'alice'", "KeyError: 'bob'"),
        ('OSError: cannot open "/a/b"', 'OSError: cannot open "/c"'),
        ("E: 01995b6e-0a7e-7d0c-8b44-0123456789ab", "E: 01995b6e-ffff-7d0c-8b44-ba9876543210"),
        ("E: <object at 0x7f8374494c10>", "E: <object at 0x7f83744aaaaa>"),
        ("T: took 1.5 s", "T: took 12.75 s"),
    ],
)
def test_particulars_do_not_split_a_group(ledger: Ledger, one: str, two: str) -> None:
    assert fingerprint(ledger, one) == fingerprint(ledger, two)


def test_kinds_tasks_and_reasons_do(ledger: Ledger) -> None:
    found = {
        fingerprint(ledger, "ValueError: x"),
        fingerprint(ledger, "KeyError: x"),
        fingerprint(ledger, "ValueError: y"),
        fingerprint(ledger, "ValueError: x", task="other"),
        fingerprint(ledger, "ValueError: x", reason="permanent"),
        fingerprint(ledger, None),
    }
    assert len(found) == 6
