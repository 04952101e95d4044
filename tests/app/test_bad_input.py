"""What cannot be kept is refused at the door by a named error, and nothing is written."""

from __future__ import annotations

import asyncio
import datetime as dt
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from emq_sql import EMQ, Task
from emq_sql.errors import (
    BadInput,
    BadJobId,
    BadName,
    BadPayload,
    BadSetting,
    BadTime,
    PayloadTooLarge,
    Refused,
    UnsupportedHandle,
)
from tests.app.conftest import Reader
from tests.plugins.databases import Database

TOMORROW = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
AHEAD = UUID(int=(int(TOMORROW.timestamp() * 1000) + 3_600_000) << 80 | 0x7 << 76 | 2 << 62)
ITSELF: list[Any] = []
ITSELF.append(ITSELF)
DEEP: Any = None
for _ in range(101):
    DEEP = [DEEP]

PAYLOADS: list[tuple[Any, type[BadInput]]] = [
    (float("nan"), BadPayload),
    (float("inf"), BadPayload),
    (b"bytes", BadPayload),
    (bytearray(b"x"), BadPayload),
    ({1, 2}, BadPayload),
    (object(), BadPayload),
    (Decimal("1.5"), BadPayload),
    (TOMORROW, BadPayload),
    (uuid4(), BadPayload),
    (1j, BadPayload),
    (Path("/tmp"), BadPayload),
    ({1: 2}, BadPayload),
    ({None: 2}, BadPayload),
    ("a\0b", BadPayload),
    ({"a\0b": 1}, BadPayload),
    ("lone \ud800", BadPayload),
    ({"\udfff": 1}, BadPayload),
    (10**700, BadPayload),
    (ITSELF, BadPayload),
    (DEEP, BadPayload),
    ("x" * 300_000, PayloadTooLarge),
    (["x"] * 200_000, PayloadTooLarge),
    (iter([1]), BadPayload),
]

OPTIONS: list[tuple[dict[str, Any], type[BadInput]]] = [
    ({"run_at": dt.datetime(2030, 1, 1)}, BadTime),
    ({"run_at": "2030-01-01T00:00:00Z"}, BadTime),
    ({"run_at": TOMORROW.date()}, BadTime),
    ({"run_at": dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=1)))}, BadTime),
    ({"run_at": TOMORROW, "delay": 5}, BadSetting),
    ({"delay": -1}, BadTime),
    ({"delay": float("nan")}, BadTime),
    ({"delay": float("inf")}, BadTime),
    ({"delay": 10**12}, BadTime),
    ({"delay": 10**9999}, BadTime),
    ({"delay": "5"}, BadTime),
    ({"delay": True}, BadTime),
    ({"delay": dt.timedelta.max}, BadTime),
    ({"queue": "Mail"}, BadName),
    ({"queue": "ma il"}, BadName),
    ({"queue": "x" * 64}, BadName),
    ({"queue": "a\0b"}, BadName),
    ({"queue": ""}, BadName),
    ({"queue": 5}, BadName),
    ({"queue": "mail\n"}, BadName),
    ({"priority": 5}, BadSetting),
    ({"priority": -1}, BadSetting),
    ({"priority": 2.0}, BadSetting),
    ({"priority": True}, BadSetting),
    ({"priority": "high"}, BadSetting),
    ({"max_attempts": 0}, BadSetting),
    ({"max_attempts": 40_000}, BadSetting),
    ({"lease": 0.001}, BadSetting),
    ({"lease": dt.timedelta(days=2)}, BadSetting),
    ({"lease": 0}, BadTime),
    ({"job_id": uuid4()}, BadJobId),
    ({"job_id": "01890000-0000-4000-8000-000000000000"}, BadJobId),
    ({"job_id": "order-42"}, BadJobId),
    ({"job_id": 42}, BadJobId),
    ({"job_id": AHEAD}, BadJobId),
    ({"headers": {"a": float("nan")}}, BadPayload),
    ({"headers": {1: 2}}, BadPayload),
    ({"headers": "trace"}, BadPayload),
    ({"headers": [("a", 1)]}, BadPayload),
    ({"headers": {"a": "x" * 20_000}}, PayloadTooLarge),
]


@pytest.fixture
def take(emq: EMQ) -> Task[[Any], None]:
    """A task that takes anything."""

    @emq.task(name="take")
    def take(value: Any) -> None: ...

    return take


def test_a_value_that_is_no_json_writes_nothing(take: Task[[Any], None], reader: Reader) -> None:
    for value, error in PAYLOADS:
        for call in (
            lambda value=value: take.enqueue(value=value),
            lambda value=value: take.enqueue(value),
            lambda value=value: take.enqueue_many([{"value": 1}, {"value": [value]}]),
        ):
            with pytest.raises(error) as told:
                call()
            assert len(str(told.value)) < 600
    assert reader.rows("select * from emq.job") == []


def test_an_option_that_cannot_be_writes_nothing(
    take: Task[[Any], None], emq: EMQ, reader: Reader
) -> None:
    for options, error in OPTIONS:
        with pytest.raises(error):
            take.using(**options).enqueue(value=1)
    assert reader.rows("select * from emq.job") == []


def test_a_refusal_at_the_door_leaves_the_callers_transaction_alive(
    take: Task[[Any], None], db: Database, reader: Reader
) -> None:
    conn = db.connect(autocommit=False)
    for options, error in OPTIONS:
        if options.get("job_id") != AHEAD:  # that one is the server's to know
            with pytest.raises(error):
                take.using(session=conn, **options).enqueue(value=1)
    take.using(session=conn).enqueue(value=1)
    conn.commit()
    assert reader.job()["payload"] == {"value": 1}


def test_an_id_dated_ahead_is_refused_by_the_servers_clock_with_the_remedy(
    take: Task[[Any], None],
) -> None:
    with pytest.raises(BadJobId, match=r"dated more than a day ahead.*clock of the producer"):
        take.using(job_id=AHEAD).enqueue(value=1)
    with pytest.raises(BadJobId, match="dated more than a day ahead"):
        take.enqueue_many([{"value": 1}, {"value": 2}], job_ids=[AHEAD, AHEAD])


def test_arguments_that_the_function_does_not_take_are_refused_where_they_are_given(
    take: Task[[Any], None], reader: Reader
) -> None:
    calls: list[Callable[[], Any]] = [
        take.enqueue,
        lambda: take.enqueue(1, 2),  # type: ignore[call-arg]
        lambda: take.enqueue(value=1, other=2),  # type: ignore[call-arg]
        lambda: take.enqueue(1, value=1),  # type: ignore[misc]
        lambda: take.enqueue_many([{}]),
        lambda: take.job(other=1),  # type: ignore[call-arg]
    ]
    for call in calls:
        with pytest.raises(BadPayload, match="Task take cannot be called with these arguments"):
            call()
    assert reader.rows("select * from emq.job") == []


def test_a_keyword_named_like_the_positional_arguments_is_refused(emq: EMQ) -> None:
    @emq.task
    def anything(**kwargs: Any) -> None: ...

    with pytest.raises(BadPayload, match=r"'\*'"):
        anything.enqueue(**{"*": [1]})


def test_what_is_just_within_the_limit_is_kept(emq: EMQ, reader: Reader) -> None:
    small = EMQ(emq.engine, payload_limit=20)
    task = small.task(name="take")(lambda value: value)
    task.enqueue(value="é" * 4)  # {"value":"éééé"} has 20 bytes
    with pytest.raises(PayloadTooLarge, match="20 bytes"):
        task.enqueue(value="é" * 4 + "x")
    assert reader.job()["payload"] == {"value": "éééé"}


def test_what_carries_no_transaction_is_no_session(
    take: Task[[Any], None], engine: Engine, db: Database, reader: Reader
) -> None:
    lite = sqlalchemy.create_engine("sqlite://")
    closed = engine.connect()
    closed.close()
    handles: list[Any] = [
        engine,
        db.connect().cursor(),
        db.dsn,
        object(),
        sqlite3.connect(":memory:"),
        lite.connect(),
        Session(lite),
        Session(),
        closed,
        engine.raw_connection(),
    ]
    for handle in handles:
        with pytest.raises(UnsupportedHandle):
            take.using(session=handle).enqueue(value=1)
        with pytest.raises(UnsupportedHandle):
            take.using(session=handle).enqueue_many([{"value": 1}])
    assert reader.rows("select * from emq.job") == []


def test_an_asynchronous_connection_is_no_session(
    take: Task[[Any], None], db: Database, reader: Reader
) -> None:
    async def attempt() -> None:
        async with await psycopg.AsyncConnection.connect(db.dsn) as conn:
            with pytest.raises(UnsupportedHandle, match="AsyncConnection"):
                take.using(session=conn).enqueue(value=1)

    asyncio.run(attempt())
    assert reader.rows("select * from emq.job") == []


def test_a_connection_whose_encoding_lacks_a_character_is_told_so(
    take: Task[[Any], None], db: Database, reader: Reader
) -> None:
    conn = db.connect(autocommit=False, client_encoding="latin1")
    with pytest.raises(BadPayload, match="client_encoding"):
        take.using(session=conn).enqueue(value="Zoë \u4e2d")
    conn.rollback()
    take.using(session=conn).enqueue(value="Zoë")
    conn.commit()
    assert reader.job()["payload"] == {"value": "Zoë"}


def test_a_look_with_a_bad_name_or_id_is_refused(emq: EMQ) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: emq.ledger("a\0b"),
        lambda: emq.pause("Mail"),
        lambda: emq.resume(""),
        lambda: emq.configure("x y"),
        lambda: emq.configure("mail", max_attempts=0),
        lambda: emq.configure("mail", max_stalled=-1),
        lambda: emq.configure("mail", lease=0),
        lambda: emq.configure("mail", retention=-5),  # type: ignore[arg-type]
        lambda: emq.place(uuid4()),
        lambda: emq.result("nonsense"),
    ]
    for call in calls:
        with pytest.raises(BadInput):
            call()
    assert emq.queues() == []


def test_a_role_that_may_not_enqueue_is_told_which_roles_there_are(
    take: Task[[Any], None], db: Database
) -> None:
    conn = db.connect(autocommit=False)
    conn.execute("set local role pg_monitor")
    with pytest.raises(Refused, match="emq schema roles"):
        take.using(session=conn).enqueue(value=1)
