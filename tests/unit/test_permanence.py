"""Which errors are not tried again: those that say so, and nothing that cannot be judged."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emq_sql import Permanent
from emq_sql.errors import BadSetting
from emq_sql.rules.permanence import is_permanent, permanent_classes


class NoSuchOrder(Permanent):
    pass


class Liar(Exception):
    @property
    def __class__(self) -> Any:
        return Permanent


class Judge(type):
    def __subclasscheck__(cls, other: type) -> bool:
        raise RuntimeError("nobody asks me")


class Unjudgeable(Exception, metaclass=Judge):
    pass


@pytest.mark.parametrize("error", [Permanent("no"), NoSuchOrder(), KeyError("k"), LookupError()])
def test_a_permanent_error_and_those_that_the_task_names_are_not_tried_again(
    error: Exception,
) -> None:
    assert is_permanent(error, (LookupError,))


@pytest.mark.parametrize("error", [ValueError(), SystemExit(), asyncio.CancelledError(), Liar()])
def test_any_other_error_is(error: BaseException) -> None:
    assert not is_permanent(error, (LookupError,))


def test_a_cause_says_nothing_about_the_error_that_arrived() -> None:
    error = ValueError()
    error.__cause__ = error.__context__ = Permanent()
    assert not is_permanent(error, ())


def test_a_group_is_permanent_when_each_of_its_leaves_is() -> None:
    both = ExceptionGroup("g", [NoSuchOrder(), ExceptionGroup("inner", [KeyError()])])
    assert is_permanent(both, (KeyError,))
    assert not is_permanent(both, ())
    mixed = BaseExceptionGroup("g", [NoSuchOrder(), KeyboardInterrupt()])
    assert not is_permanent(mixed, (Exception,))


def test_what_raises_when_it_is_judged_is_tried_again() -> None:
    assert not is_permanent(ValueError(), (Unjudgeable,))
    deep: Exception = Permanent()
    for _ in range(100_000):
        deep = ExceptionGroup("g", [deep])
    assert not is_permanent(deep, ())


def test_one_class_or_some_may_be_named() -> None:
    assert permanent_classes(ValueError) == (ValueError,)
    assert permanent_classes([ValueError, KeyError]) == (ValueError, KeyError)
    assert permanent_classes(()) == ()


@pytest.mark.parametrize("given", [5, "ValueError", [int], SystemExit, (ValueError, None)])
def test_what_is_no_class_of_exceptions_is_refused(given: Any) -> None:
    with pytest.raises(BadSetting, match="no class of exceptions"):
        permanent_classes(given)
