"""What is said of a job reaches the database; what is not said is the task's, then the queue's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from emq_sql import EMQ, Enqueued, Task, job_id
from emq_sql.errors import BadInput
from emq_sql.minting import new_id
from emq_sql.protocol import claiming
from tests.app.conftest import Reader

Send = Task[[int], None]


def test_the_defaults_are_the_queues(emq: EMQ, send: Send, reader: Reader) -> None:
    answer = send.enqueue(n=1)
    job = reader.job()
    assert job["id"] == answer.id
    assert (job["task"], job["queue"], job["priority"]) == ("send", "default", 2)
    assert (job["max_attempts"], job["lease_ms"], job["headers"]) == (None, None, None)


def test_a_task_says_it_for_its_jobs_and_using_says_it_for_one(emq: EMQ, reader: Reader) -> None:
    @emq.task(queue="mail", priority=1, max_attempts=5, lease=timedelta(seconds=7.5))
    def post(n: int) -> None: ...

    columns = "queue, priority, max_attempts, lease_ms"
    post.enqueue(n=1)
    post.using(queue="slow", priority=4, max_attempts=9, lease=2).enqueue(n=2)
    post.enqueue_many([{"n": 3}])
    post.using(priority=0).enqueue_many([{"n": 4}, {"n": 5}])
    found = reader.rows(f"select {columns} from emq.job order by (payload -> 'n')::int")
    usual = {"queue": "mail", "priority": 1, "max_attempts": 5, "lease_ms": 7500}
    assert found == [
        usual,
        {"queue": "slow", "priority": 4, "max_attempts": 9, "lease_ms": 2000},
        usual,
        usual | {"priority": 0},
        usual | {"priority": 0},
    ]


def test_priorities_order_the_line_whatever_came_first(emq: EMQ, send: Send) -> None:
    for priority in (4, 2, 0, 3, 1):
        send.using(priority=priority).enqueue(n=priority)
    with emq.connection() as conn:
        held = claiming.claim(conn, emq.schema, "default", 5, "somebody", 1)
    assert [job.payload["n"] for job in held] == [0, 1, 2, 3, 4]


def test_headers_travel_with_the_job_as_they_were_when_they_were_given(
    emq: EMQ, send: Send
) -> None:
    headers: dict[str, Any] = {"trace": ["a", 1], "who": "Zoë"}
    using = send.using(headers=headers)
    headers["later"] = True
    using.enqueue(n=1)
    using.enqueue_many([{"n": 2}, {"n": 3}])
    with emq.connection() as conn:
        held = claiming.claim(conn, emq.schema, "default", 3, "somebody", 1)
    assert [job.headers for job in held] == [{"trace": ["a", 1], "who": "Zoë"}] * 3


def test_when_a_job_expires_travels_beside_its_other_headers(emq: EMQ, reader: Reader) -> None:
    @emq.task(expires=timedelta(minutes=1))
    def soon(n: int) -> None: ...

    at = datetime(2199, 1, 1, tzinfo=UTC)
    soon.enqueue(n=1)
    soon.using(expires=2.5, headers={"who": "me"}).enqueue(n=2)
    soon.using(delay=30).enqueue_many([{"n": 3}])
    emq.enqueue_many([soon.using(run_at=at).job(n=4)])
    found = reader.rows("select headers from emq.job order by (payload -> 'n')::int")
    after, instant = "emq-expires-after", "emq-expires-at"
    assert [row["headers"] for row in found] == [
        {after: 60},
        {after: 2.5, "who": "me"},
        {after: 90},
        {after: 60, instant: "2199-01-01T00:01:00+00:00"},
    ]


@pytest.mark.parametrize("delay", [90, 90.0, timedelta(seconds=90)])
def test_a_delay_counts_from_now_on_the_servers_clock(
    send: Send, reader: Reader, delay: Any
) -> None:
    before = reader.rows("select clock_timestamp() as at")[0]["at"]
    assert send.using(delay=delay).enqueue(n=1).status == "scheduled"
    after = reader.rows("select clock_timestamp() as at")[0]["at"]
    (row,) = reader.rows("select run_at from emq.scheduled")
    assert before <= row["run_at"] - timedelta(seconds=90) <= after


def test_run_at_is_the_instant_in_whatever_zone_it_is_written(send: Send, reader: Reader) -> None:
    at = datetime(2199, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert send.using(run_at=at).enqueue(n=1).status == "scheduled"
    assert reader.rows("select run_at from emq.scheduled") == [{"run_at": at}]


def test_what_is_due_already_goes_into_the_line(send: Send) -> None:
    assert send.using(delay=0).enqueue(n=1).status == "enqueued"
    assert send.using(run_at=datetime(1999, 1, 1, tzinfo=UTC)).enqueue(n=2).status == "enqueued"


def test_an_id_enqueued_again_is_a_duplicate_and_changes_nothing(
    send: Send, reader: Reader
) -> None:
    wanted = new_id()
    assert send.using(job_id=wanted).enqueue(n=1) == Enqueued(wanted, "enqueued")
    again = send.using(job_id=str(wanted), priority=0, queue="other").enqueue(n=2)
    assert again == Enqueued(wanted, "duplicate")
    assert again.duplicate
    assert (reader.numbers(), reader.job()["queue"]) == ([1], "default")


def test_a_key_and_an_instant_make_one_job_however_often(send: Send, reader: Reader) -> None:
    placed = datetime(2026, 1, 2, tzinfo=UTC)
    told = [
        send.using(job_id=job_id("order 42", placed)).enqueue(n=42).status for _ in range(3)
    ]  # fmt: skip
    assert told == ["enqueued", "duplicate", "duplicate"]
    (row,) = reader.rows("select emq.job_id('order 42', %s) as id", placed)
    assert row["id"] == reader.job()["id"]


def test_a_duplicate_of_an_uncommitted_job_waits_and_takes_over_when_that_rolls_back(
    emq: EMQ, send: Send, reader: Reader
) -> None:
    wanted = new_id()
    with emq.connection() as conn:
        with pytest.raises(LookupError), conn.transaction():
            send.using(session=conn, job_id=wanted).enqueue(n=1)
            raise LookupError
        assert send.using(job_id=wanted).enqueue(n=2).status == "enqueued"
    assert reader.numbers() == [2]


def test_positional_arguments_travel_and_so_do_names_that_python_uses_itself(
    emq: EMQ, reader: Reader
) -> None:
    @emq.task
    def odd(self: int, /, *args: int, task: str = "", **kwargs: int) -> None: ...

    odd.enqueue(1, 2, task="t", self=3)  # type: ignore[call-arg, arg-type]
    assert reader.job()["payload"] == {"*": [1, 2], "task": "t", "self": 3}


def test_using_is_kept_and_shared_without_being_changed(send: Send, reader: Reader) -> None:
    urgent = send.using(priority=0)
    first, second = urgent.enqueue(n=1), urgent.enqueue(n=2)
    send.enqueue(n=3)
    assert first.id < second.id
    found = reader.rows("select priority from emq.job order by id")
    assert [row["priority"] for row in found] == [0, 0, 2]


def test_a_queues_settings_reach_the_database(emq: EMQ, reader: Reader) -> None:
    emq.configure("mail", lease=5, max_attempts=3)
    emq.configure("mail", max_stalled=3, retention=timedelta(days=9))
    emq.pause("mail")
    emq.configure(
        "mail", max_active=7, cancelled_retention=60, dead_retention=3600.5, replay_within=0,
        unknown_after=timedelta(weeks=1), quarantine="sick", quarantine_after=2, on_dead="tell",
        on_dead_queue="alarms",
    )  # fmt: skip
    (row,) = reader.rows("select * from emq.queue")
    assert row == {
        "name": "mail", "paused": True, "lease": timedelta(seconds=5), "max_attempts": 3,
        "max_stalled": 3, "retention": timedelta(days=9), "max_active": 7,
        "cancelled_retention": timedelta(minutes=1), "dead_retention": timedelta(seconds=3600.5),
        "replay_within": timedelta(0), "unknown_after": timedelta(days=7), "quarantine": "sick",
        "quarantine_after": 2, "on_dead": "tell", "on_dead_queue": "alarms",
    }  # fmt: skip
    emq.resume("mail")
    assert reader.rows("select paused from emq.queue") == [{"paused": False}]


def test_a_setting_that_is_not_given_stays_and_one_that_is_reset_has_its_default(
    emq: EMQ, reader: Reader
) -> None:
    emq.configure("mail", lease=5, max_active=7, retention=60)
    emq.configure("mail", max_active=None, retention=120, reset=["lease"])
    assert reader.rows("select lease, max_active, retention from emq.queue") == [
        {"lease": timedelta(seconds=30), "max_active": 7, "retention": timedelta(minutes=2)}
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"max_activ": 1}, {"reset": ["max_activ"]}, {"max_active": 0}, {"lease": 0.1},
        {"replay_within": -1}, {"quarantine": "Sick"}, {"quarantine": "mail"}, {"on_dead": " "},
        {"max_stalled": True},
    ],
)  # fmt: skip
def test_a_setting_that_is_none_is_refused_and_nothing_is_changed(
    emq: EMQ, reader: Reader, given: dict[str, Any]
) -> None:
    with pytest.raises(BadInput):
        emq.configure("mail", max_attempts=3, **given)
    assert reader.rows("select * from emq.queue") == []


def test_a_paused_queue_still_takes_jobs(emq: EMQ, send: Send) -> None:
    emq.pause("default")
    assert send.enqueue(n=1).status == "enqueued"
    (queue,) = emq.queues()
    assert (queue["paused"], queue["pending"]) == (True, 1)


def test_a_job_is_found_by_its_id_in_its_place(emq: EMQ, send: Send) -> None:
    answer = send.using(delay=60).enqueue(n=1)
    place = emq.place(answer.id)
    assert place is not None and place["place"] == "scheduled"
    assert emq.place(str(answer.id)) == place
    assert emq.place(new_id()) is None
    assert emq.result(answer.id) is None
