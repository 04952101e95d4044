"""Registered functions are still functions, known by one name; what cannot be a task is refused."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest

from emq_sql import EMQ, Job
from emq_sql.errors import BadName, BadSetting, BadTime, UnknownTask


@pytest.fixture
def emq() -> EMQ:
    """An application without a database: registering needs none."""
    return EMQ("postgresql://nobody@/nothing")


def add(a: int, b: int = 1) -> int:
    """Sum of both."""
    return a + b


def test_calling_a_task_runs_it_here_and_now(emq: EMQ) -> None:
    task = emq.task(add)
    assert task(1, b=2) == 3
    assert (task.__name__, task.__doc__, task.__wrapped__) == ("add", "Sum of both.", add)
    assert repr(task) == "<Task add on queue default>"


def test_calling_an_async_task_gives_what_can_be_awaited(emq: EMQ) -> None:
    @emq.task
    async def later(n: int) -> int:
        return n + 1

    assert asyncio.run(later(1)) == 2


def test_a_task_that_takes_the_context_is_called_with_it(emq: EMQ) -> None:
    @emq.task(takes_context=True)
    def with_job(job: Job | None, n: int) -> int:
        assert job is None
        return n

    assert with_job(None, 5) == 5  # type: ignore[arg-type, call-arg, misc]
    assert with_job.job(n=5).job.payload == '{"n":5}'


def test_the_name_is_the_functions_own_without_its_module(emq: EMQ) -> None:
    assert emq.task(add).name == "add"
    assert emq.task(name="sums.add")(add).name == "sums.add"
    assert set(emq.tasks) == set(emq.handlers) == {"add", "sums.add"}
    assert emq.get_task("add") is emq.tasks["add"]


def test_two_functions_under_one_name_are_refused_and_the_first_stays(emq: EMQ) -> None:
    first = emq.task(add)

    def other() -> None: ...

    with pytest.raises(BadSetting, match=r"Two tasks are named 'add'.*test_tasks\.add and"):
        emq.task(name="add")(other)
    assert emq.get_task("add") is first


def test_the_same_function_may_be_registered_again_with_other_defaults(emq: EMQ) -> None:
    emq.task(add)
    again = emq.task(queue="sums")(add)
    assert emq.get_task("add") is again


def test_one_function_may_be_a_task_of_two_applications(emq: EMQ) -> None:
    other = EMQ("postgresql://nobody@/nothing", schema="jobs")

    @emq.task
    @other.task(queue="sums")
    async def both() -> None: ...

    assert emq.handlers["both"].function is other.handlers["both"].function
    assert asyncio.iscoroutinefunction(emq.handlers["both"].function)


def test_an_unknown_task_is_named_with_those_that_are_known(emq: EMQ) -> None:
    emq.task(add)
    with pytest.raises(UnknownTask, match=r"'sub'.*Registered here: add\."):
        emq.get_task("sub")


@pytest.mark.parametrize("thing", [lambda: None, functools.partial(add, 1)])
def test_what_has_no_name_needs_one(emq: EMQ, thing: Any) -> None:
    with pytest.raises(BadName, match="name="):
        emq.task(thing)
    assert emq.task(name="named")(thing).name == "named"


@pytest.mark.parametrize("thing", ["mail", 5, {"queue": "mail"}])
def test_what_is_no_function_is_refused(emq: EMQ, thing: Any) -> None:
    with pytest.raises((BadSetting, BadName), match="Decorate a function"):
        emq.task(thing)
    with pytest.raises(BadSetting, match="cannot be a task"):
        emq.task(name="x")(thing)
    assert not emq.tasks


def test_a_context_needs_an_argument_to_go_to(emq: EMQ) -> None:
    def nothing() -> None: ...

    def only_named(*, job: Job) -> None: ...

    for function in (nothing, only_named):
        with pytest.raises(BadSetting, match="takes the context"):
            emq.task(takes_context=True)(function)  # type: ignore[type-var, arg-type]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"name": ""}, BadName),
        ({"name": " padded"}, BadName),
        ({"name": "x" * 201}, BadName),
        ({"name": 5}, BadName),
        ({"queue": "Mail"}, BadName),
        ({"queue": ""}, BadName),
        ({"queue": None}, BadName),
        ({"priority": 5}, BadSetting),
        ({"priority": -1}, BadSetting),
        ({"priority": True}, BadSetting),
        ({"priority": "2"}, BadSetting),
        ({"priority": 10**9999}, BadSetting),
        ({"max_attempts": 0}, BadSetting),
        ({"max_attempts": 32768}, BadSetting),
        ({"max_attempts": 1.5}, BadSetting),
        ({"lease": 0.1}, BadSetting),
        ({"lease": 86_401}, BadSetting),
        ({"lease": "30"}, BadTime),
        ({"timeout": 0}, BadTime),
        ({"timeout": float("nan")}, BadTime),
        ({"backoff": -1}, BadTime),
        ({"backoff": "fast"}, BadSetting),
    ],
)
def test_settings_that_cannot_be_are_refused_at_the_decorator(
    emq: EMQ, given: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        emq.task(**given)(add)
    assert not emq.tasks
