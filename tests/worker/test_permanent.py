"""A handler may say that another try cannot help, wherever it runs; nothing else says it for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emq_sql import EMQ, Permanent
from emq_sql.errors import BadSetting
from emq_sql.rules.verdict import Failed
from tests.worker.room import Room


@pytest.fixture
def room() -> Room:
    return Room()


def raises(error: Exception) -> Any:
    def function() -> None:
        raise error

    async def coroutine() -> None:
        await asyncio.sleep(0)
        raise error

    async def in_a_group() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(coroutine())

    def returns_it() -> Any:
        return coroutine()

    return function, coroutine, in_a_group, returns_it


@pytest.mark.parametrize("function", raises(Permanent("no such customer")))
def test_a_permanent_error_is_not_tried_again(room: Room, function: Any) -> None:
    ending = room.run(function, backoff=60)
    assert isinstance(ending, Failed)
    assert ending.reason == "permanent"
    assert "no such customer" in ending.headline
    assert not ending.delay


@pytest.mark.parametrize("function", raises(KeyError("k")))
def test_nor_is_one_of_the_classes_that_the_task_names(room: Room, function: Any) -> None:
    ending = room.run(function, permanent=(LookupError,))
    assert isinstance(ending, Failed)
    assert ending.reason == "permanent"


def test_arguments_that_do_not_fit_are_tried_again_whatever_the_task_names(room: Room) -> None:
    # A newer worker may take them: that is for no class of errors to say.
    ending = room.run(lambda: None, {"a": 1}, permanent=(Exception,))
    assert isinstance(ending, Failed)
    assert ending.reason == "exception"


def test_a_setting_that_names_no_class_is_refused_with_the_task() -> None:
    with pytest.raises(BadSetting, match="permanent names"):
        EMQ("postgresql://nowhere").task(name="t", permanent=5)  # type: ignore[call-overload]
