"""Many jobs at once: all or none, and told in the order in which they were given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emq_sql import EMQ, Task
from emq_sql.errors import BadInput, BadPayload, BadSetting
from emq_sql.minting import new_id
from tests.app.conftest import Reader

Send = Task[[int], None]


def test_answers_come_in_the_order_given_also_when_ids_do_not(send: Send, reader: Reader) -> None:
    ids = [new_id() for _ in range(50)]
    shuffled = ids[25:] + ids[:25][::-1]
    answers = send.enqueue_many([{"n": n} for n in range(50)], job_ids=shuffled)
    assert [answer.id for answer in answers] == shuffled
    assert {answer.status for answer in answers} == {"enqueued"}
    found = {
        row["id"]: row["n"] for row in reader.rows("select id, payload->'n' as n from emq.job")
    }
    assert [found[answer.id] for answer in answers] == list(range(50))


def test_the_line_keeps_the_order_given(send: Send, reader: Reader) -> None:
    send.enqueue_many([{"n": n} for n in range(20)])
    line = reader.rows(
        "select payload -> 'n' as n from emq.pending p join emq.job j using (id) order by p.ord"
    )
    assert [row["n"] for row in line] == list(range(20))


def test_statuses_are_each_jobs_own(emq: EMQ, send: Send, reader: Reader) -> None:
    known = send.enqueue(n=0).id
    jobs = [
        send.job(n=1),
        send.using(delay=60).job(n=2),
        send.using(job_id=known).job(n=3),
        send.using(delay=0).job(n=4),
    ]
    answers = emq.enqueue_many(jobs)
    assert [answer.status for answer in answers] == [
        "enqueued", "scheduled", "duplicate", "enqueued",
    ]  # fmt: skip
    assert reader.numbers() == [0, 1, 2, 4]


def test_an_id_twice_in_a_call_is_a_duplicate_the_second_time(
    emq: EMQ, send: Send, reader: Reader
) -> None:
    wanted, other = new_id(), new_id()
    told = send.enqueue_many([{"n": 1}, {"n": 2}, {"n": 3}], job_ids=[wanted, other, wanted])
    assert [answer.status for answer in told] == ["enqueued", "enqueued", "duplicate"]
    assert reader.numbers() == [1, 2]


def test_also_when_the_second_time_is_in_a_queue_that_comes_first(
    emq: EMQ, send: Send, reader: Reader
) -> None:
    wanted = new_id()
    jobs = [
        send.using(queue="a").job(n=0),
        send.using(queue="z", job_id=wanted).job(n=1),
        send.using(queue="a", job_id=wanted).job(n=2),
    ]
    told = emq.enqueue_many(jobs)
    assert [answer.status for answer in told] == ["enqueued", "enqueued", "duplicate"]
    assert reader.rows("select queue from emq.job where id = %s", wanted) == [{"queue": "z"}]
    assert reader.numbers() == [0, 1]


def test_tasks_and_queues_may_be_mixed(emq: EMQ, send: Send, reader: Reader) -> None:
    @emq.task(queue="mail")
    def post(n: int, to: str) -> None: ...

    answers = emq.enqueue_many(
        [send.job(n=1), post.job(2, to="x"), send.using(queue="mail", priority=0).job(n=3)]
    )
    found = {row["id"]: row for row in reader.rows("select * from emq.job")}
    assert [(found[a.id]["task"], found[a.id]["queue"]) for a in answers] == [
        ("send", "default"), ("post", "mail"), ("send", "mail"),
    ]  # fmt: skip


def test_one_bad_job_means_none_and_is_named(emq: EMQ, send: Send, reader: Reader) -> None:
    with pytest.raises(BadPayload, match=r"Job 2 of 3: n is of type set"):
        send.enqueue_many([{"n": 1}, {"n": 2}, {"n": {3}}])
    ahead = "0fffffff-ffff-7000-8000-000000000000"
    with pytest.raises(BadInput, match="a day ahead"):
        emq.enqueue_many([send.using(queue="a").job(n=1), send.using(job_id=ahead).job(n=2)])
    assert reader.numbers() == []


def test_none_is_no_job_and_no_error(emq: EMQ, send: Send) -> None:
    assert send.enqueue_many([]) == []
    assert emq.enqueue_many([]) == []


def test_what_can_be_iterated_is_enough(emq: EMQ, send: Send, reader: Reader) -> None:
    ids = [new_id(), new_id()]
    send.enqueue_many(({"n": n} for n in (1, 2)), job_ids=iter(ids))
    emq.enqueue_many(send.job(n=n) for n in (3, 4))
    assert reader.numbers() == [1, 2, 3, 4]


def test_ids_are_one_for_each_job(send: Send, reader: Reader) -> None:
    with pytest.raises(BadSetting, match="2 jobs were given 1 ids"):
        send.enqueue_many([{"n": 1}, {"n": 2}], job_ids=[new_id()])
    with pytest.raises(BadSetting, match="One job_id was given for many"):
        send.using(job_id=new_id()).enqueue_many([{"n": 1}])
    assert reader.numbers() == []


@pytest.mark.parametrize("row", [None, 5, "n", ["n"], [("n", 1)]])
def test_each_row_is_a_mapping(send: Send, reader: Reader, row: object) -> None:
    with pytest.raises(BadPayload, match="Job 0 of 1"):
        send.enqueue_many([row])  # type: ignore[list-item]
    assert reader.numbers() == []


def test_only_prepared_jobs_are_taken(emq: EMQ, send: Send) -> None:
    with pytest.raises(BadSetting, match=r"Job 1 of 2 is of type Using.*task\.job"):
        emq.enqueue_many([send.job(n=1), send.using()])  # type: ignore[list-item]


def test_one_dict_that_is_given_again_and_again_is_a_job_as_it_was_each_time(
    send: Send, reader: Reader
) -> None:
    def rows() -> Iterator[dict[str, int]]:
        row = {}
        for n in range(4):
            row["n"] = n
            yield row

    send.enqueue_many(rows())
    assert reader.numbers() == [0, 1, 2, 3]
