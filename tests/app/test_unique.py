"""unique_key: one job for a key, by whichever way it is enqueued."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.orm import Session

from emq_sql import EMQ, Task
from emq_sql.errors import BadInput, BadName, BadSetting
from emq_sql.rules.unique import checked_key
from tests.app.conftest import Reader
from tests.plugins.databases import Database
from tests.plugins.proxy import proxied

Send = Task[[int], None]


def test_the_second_is_a_duplicate_of_the_one_that_has_the_key(send: Send, reader: Reader) -> None:
    welcome = send.using(unique_key="welcome:42")
    first, second = welcome.enqueue(n=1), welcome.enqueue(n=2)
    assert (first.status, second.status, second.id) == ("enqueued", "duplicate", first.id)
    assert send.enqueue(n=3).status == "enqueued"
    assert reader.numbers() == [1, 3]


def test_it_joins_the_callers_transaction(emq: EMQ, send: Send, reader: Reader) -> None:
    for n, ends in ((1, "rollback"), (2, "commit"), (3, "commit")):
        with Session(emq.engine) as session:
            send.using(unique_key="k", session=session).enqueue(n=n)
            getattr(session, ends)()
    assert reader.numbers() == [2]


def test_a_task_can_make_the_key_of_its_arguments(emq: EMQ, reader: Reader) -> None:
    @emq.task(unique_key=lambda n, loud=False: f"send:{n}" if n else None)
    def send(n: int, loud: bool = False) -> None: ...

    assert [send.enqueue(n).status for n in (1, 1, 2, 0, 0)] == [
        "enqueued", "duplicate", "enqueued", "enqueued", "enqueued",
    ]  # fmt: skip
    rows = [{"n": 3}, {"n": 1}, {"n": 3, "loud": True}, {"n": 0}]
    answers = send.enqueue_many(rows)
    assert [a.status for a in answers] == ["enqueued", "duplicate", "duplicate", "enqueued"]
    assert answers[0].id == answers[2].id
    assert send.using(unique_key="another").enqueue(1).status == "enqueued"


def test_jobs_of_many_tasks_and_queues_in_one_call(emq: EMQ, send: Send, reader: Reader) -> None:
    here, there = send.using(unique_key="k"), send.using(unique_key="k", queue="a")
    answers = emq.enqueue_many([here.job(n=1), send.job(n=2), there.job(n=3), send.job(n=4)])
    assert [a.status for a in answers] == ["duplicate", "enqueued", "enqueued", "enqueued"]
    assert answers[0].id == answers[2].id
    assert reader.numbers() == [2, 3, 4]


def test_coroutines_have_it_too(send: Send) -> None:
    async def scenario() -> list[str]:
        unique = send.using(unique_key="k", unique_for=60)
        return [(await unique.aenqueue(n=n)).status for n in (1, 2)]

    assert asyncio.run(scenario()) == ["enqueued", "duplicate"]


def test_a_reply_that_was_lost_is_told_as_it_was(db: Database, reader: Reader) -> None:
    with proxied(db.dsn) as proxy:
        emq = EMQ(proxy.dsn)

        @emq.task(unique_key="k")
        def send(n: int) -> None: ...

        with emq.connection():
            pass
        proxy.lose_reply_to(b"enqueue_unique")
        answer = send.enqueue(n=1)
        assert (answer.status, reader.job()["id"]) == ("enqueued", answer.id)
        assert send.enqueue(n=2).status == "duplicate"
        emq.engine.dispose()


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"unique_key": ""}, BadName),
        ({"unique_key": "k" * 501}, BadName),
        ({"unique_key": "a\0b"}, BadName),
        ({"unique_key": "\ud800"}, BadName),
        ({"unique_key": 42}, BadName),
        ({"unique_key": "k", "unique_while": "ever"}, BadSetting),
        ({"unique_key": "k", "unique_for": 0}, BadInput),
        ({"unique_key": "k", "unique_for": 366 * 86400}, BadSetting),
        ({"unique_key": "k", "unique_for": 60, "unique_while": "waiting"}, BadSetting),
        ({"unique_for": 60}, BadSetting),
        ({"unique_key": "k", "unless_waiting": True}, BadSetting),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(
    send: Send, reader: Reader, said: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        send.using(**said).enqueue(n=1)
    assert reader.numbers() == []


def test_a_key_that_a_function_makes_is_checked_too(send: Send, reader: Reader) -> None:
    for key in ("", 42, "k" * 501):
        with pytest.raises(BadName, match="The unique key of send"):
            send.using(unique_key=lambda n, key=key: key).enqueue(n=1)  # type: ignore[misc,return-value]
    assert reader.numbers() == []


@given(st.text(max_size=600))
def test_whatever_is_taken_for_a_key_can_be_stored(key: str) -> None:
    try:
        checked_key(key, "It")
    except BadName:
        return
    assert 1 <= len(key) <= 500
    assert "\0" not in key
    key.encode()
