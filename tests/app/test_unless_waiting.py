"""using(unless_waiting=True): one job of the task waits, and its answer is told as what it is."""

from __future__ import annotations

import pytest
from sqlalchemy.orm import Session

from emq_sql import EMQ, Task
from emq_sql.errors import BadSetting
from tests.app.conftest import Reader
from tests.plugins.databases import Database
from tests.plugins.proxy import proxied

Send = Task[[int], None]


def test_the_second_is_a_duplicate_of_the_one_that_waits(send: Send, reader: Reader) -> None:
    first = send.using(unless_waiting=True).enqueue(n=1)
    second = send.using(unless_waiting=True).enqueue(n=2)
    assert (first.status, second.status) == ("enqueued", "duplicate")
    assert (second.id, second.duplicate) == (first.id, True)
    assert reader.numbers() == [1]
    assert send.enqueue(n=3).status == "enqueued"


def test_it_joins_the_callers_transaction(emq: EMQ, send: Send, reader: Reader) -> None:
    with Session(emq.engine) as session:
        assert send.using(unless_waiting=True, session=session).enqueue(n=1).status == "enqueued"
        session.rollback()
    assert reader.numbers() == []
    with Session(emq.engine) as session:
        send.using(unless_waiting=True, session=session).enqueue(n=2)
        session.commit()
    assert reader.numbers() == [2]


def test_it_is_for_one_job(emq: EMQ, send: Send, reader: Reader) -> None:
    one = send.using(unless_waiting=True)
    with pytest.raises(BadSetting):
        one.enqueue_many([{"n": 1}])
    with pytest.raises(BadSetting):
        emq.enqueue_many([one.job(n=1), send.job(n=2)])
    assert reader.numbers() == []
    assert emq.enqueue_many([one.job(n=3)])[0].status == "enqueued"


def test_a_reply_that_was_lost_is_told_as_it_was(db: Database, reader: Reader) -> None:
    """The job that is found to wait is the one that the lost call has added."""
    with proxied(db.dsn) as proxy:
        emq = EMQ(proxy.dsn)

        @emq.task
        def send(n: int) -> None: ...

        with emq.connection():
            pass
        proxy.lose_reply_to(b"enqueue_unless_waiting")
        answer = send.using(unless_waiting=True).enqueue(n=1)
        assert (answer.status, reader.job()["id"]) == ("enqueued", answer.id)
        assert send.using(unless_waiting=True).enqueue(n=2).status == "duplicate"
        emq.engine.dispose()
