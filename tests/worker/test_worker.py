"""A worker and what its handlers may do, on a real database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from emq_sql.effects.effects import DatabaseEffects
from emq_sql.errors import JobFinished, LeaseLost, Refused
from emq_sql.worker.context import Job
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.worker import Worker
from tests.plugins.proxy import proxied
from tests.worker.conftest import Bench

ARCHIVED = "select count(*) = %s from emq.archive"


def test_a_burst_ends_when_the_queues_are_empty_and_counts_what_handlers_enqueued(
    bench: Bench,
) -> None:
    def chain(left: int) -> int:
        if left:
            with bench.connect() as connection:
                connection.execute(
                    "select emq.enqueue('second', 'chain', %s::jsonb)", [f'{{"*": [{left - 1}]}}']
                )
        return left

    bench.enqueue(bench.task(chain), 5)
    bench.burst(queues=("default", "second"))
    assert bench.rows("select count(*) from emq.archive") == [(6,)]


def test_it_holds_no_more_jobs_than_it_has_slots(bench: Bench) -> None:
    go = threading.Event()
    bench.enqueue(bench.task(go.wait), 20.0, n=20)
    first = bench.start(concurrency=3)
    bench.until("select count(*) = 3 from emq.active")
    second = bench.start(concurrency=4)
    bench.until("select count(*) = 7 from emq.active")
    held = dict(bench.rows("select worker, count(*) from emq.active group by 1"))
    assert held == {first.name: 3, second.name: 4}
    go.set()
    bench.until(ARCHIVED, 20)


def test_a_full_queue_starves_no_other(bench: Bench) -> None:
    task = bench.task(lambda: None)
    bench.enqueue(task, queue="full", n=300)
    bench.enqueue(task, queue="quiet", n=5)
    bench.burst(queues=("full", "quiet"), concurrency=2)
    place = """select max(n) from (select queue, row_number() over (order by claimed_at) as n
                                     from emq.archive) x where queue = 'quiet'"""
    ((last,),) = bench.rows(place)
    assert last < 100


def test_extend_moves_the_deadline_and_takes_a_length_of_its_own(bench: Bench) -> None:
    known = []

    def longer(job: Job) -> None:
        known.append(job.lease_deadline)
        job.extend()
        known.append(job.lease_deadline)
        job.extend(600)
        known.append(job.lease_deadline)
        row = bench.connect().execute("select lease_deadline from emq.active").fetchone()
        assert row is not None
        known.append(row[0])

    bench.enqueue(bench.task(longer, takes_context=True))
    bench.burst()
    assert bench.rows("select status from emq.archive") == [("completed",)]
    assert known == sorted(known)
    assert known[2] - known[0] > timedelta(minutes=9)
    assert known[3] - known[2] < timedelta(seconds=10)


def test_a_snoozed_job_waits_at_no_cost_and_its_return_value_is_ignored(bench: Bench) -> None:
    errors = []

    def later(job: Job) -> str:
        if job.attempts == 1:
            job.snooze(3600)
            for again in (lambda: job.snooze(1), job.extend, lambda: job.complete(None)):
                with pytest.raises(JobFinished) as caught:
                    again()  # type: ignore[no-untyped-call]
                errors.append(caught.value.code)
        return "ignored"

    (id,) = bench.enqueue(bench.task(later, takes_context=True))
    bench.burst()
    waiting = bench.rows("select id, attempts, stalled, failures from emq.scheduled")
    assert waiting == [(id, 1, 0, 0)]
    assert errors == ["EMQ202"] * 3
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]


def completing(bench: Bench, commit: bool, then: Exception | None = None) -> str:
    def own(job: Job) -> str:
        with psycopg.connect(bench.db.dsn) as connection:
            job.complete(connection, "its own")
            if not commit:
                connection.rollback()
        if then is not None:
            raise then
        return "of the return"

    return bench.task(own, takes_context=True, backoff=3600)


def test_the_result_of_the_handlers_own_completion_stands(bench: Bench) -> None:
    bench.enqueue(completing(bench, commit=True))
    bench.burst()
    assert bench.rows("select result, attempts from emq.archive") == [("its own", 1)]
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]


def test_an_error_after_the_committed_completion_changes_nothing(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.enqueue(completing(bench, commit=True, then=ValueError("too late")))
    bench.burst()
    assert bench.rows("select result from emq.archive") == [("its own",)]
    assert "too late" in caplog.text
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]


def test_a_completion_that_was_rolled_back_is_a_failure_that_says_so(bench: Bench) -> None:
    (id,) = bench.enqueue(completing(bench, commit=False))
    bench.burst()
    assert bench.rows("select id, failures from emq.scheduled") == [(id, 1)]
    ((error,),) = bench.rows("select error from emq.attempt")
    assert "was not committed" in error
    assert bench.rows("select count(*) from emq.archive") == [(0,)]


def test_a_completion_that_commits_after_the_handler_has_returned_is_accepted(
    bench: Bench,
) -> None:
    left_open = []

    def sloppy(job: Job) -> None:
        connection = psycopg.connect(bench.db.dsn)
        job.complete(connection)
        left_open.append(connection)

    bench.enqueue(bench.task(sloppy, takes_context=True, backoff=3600))
    bench.start()
    while not left_open:
        pass
    bench.enqueue(bench.task(lambda: "another"))
    bench.until(ARCHIVED, 1)
    left_open[0].commit()
    bench.until(ARCHIVED, 2)
    bench.running[-1][0].drain()
    bench.running[-1][1].join(20)
    assert bench.rows("select max(attempts), max(failures) from emq.archive") == [(1, 0)]
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]
    left_open[0].close()


def test_an_open_completion_is_said_to_be_open_and_a_failure_only_once_it_is_one(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    left_open: list[psycopg.Connection[Any]] = []
    said_open, said_failed = "its own completion is not committed yet", "it counts as failed"

    def sloppy(job: Job) -> None:
        connection = psycopg.connect(bench.db.dsn)
        job.complete(connection)
        left_open.append(connection)

    def until(true: Callable[[], bool]) -> None:
        end = time.monotonic() + 20
        while not true():
            assert time.monotonic() < end, caplog.text
            time.sleep(0.01)

    task = bench.task(sloppy, takes_context=True, backoff=3600)
    bench.enqueue(task)
    bench.start()
    until(lambda: said_open in caplog.text)
    assert said_failed not in caplog.text
    left_open[0].commit()
    bench.until(ARCHIVED, 1)
    bench.enqueue(task)
    until(lambda: caplog.text.count(said_open) == 2)
    assert said_failed not in caplog.text
    left_open[1].rollback()
    bench.until("select count(*) = 1 from emq.scheduled")
    until(lambda: caplog.text.count(said_failed) == 1)
    for connection in left_open:
        connection.close()


def test_of_a_failure_the_log_says_the_type_and_the_first_line(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    def raises() -> None:
        raise ValueError("the order is gone\nask later\n+-----")

    bench.enqueue(bench.task(raises, backoff=3600))
    bench.start()
    bench.until("select count(*) = 1 from emq.scheduled")
    bench.close()
    assert "s: ValueError: the order is gone\n" in caplog.text
    assert "+-----" not in caplog.text


def test_a_fault_in_stopping_one_run_keeps_no_other_from_being_released(bench: Bench) -> None:
    go = threading.Event()
    bench.enqueue(bench.task(lambda: go.wait(20) and None), n=3)
    worker = bench.start(concurrency=3)
    bench.until("select count(*) = 3 from emq.active")
    executor: Any = worker._executor
    stop, stopped = executor.stop, []

    def fails_once(entry: Any, ending: Any) -> None:
        stopped.append(entry)
        if len(stopped) == 1:
            raise RuntimeError("nothing is there")
        stop(entry, ending)

    executor.stop = fails_once
    worker.release_now()
    bench.running[-1][1].join(20)
    assert worker.released_all
    assert len(stopped) == 3
    assert bench.rows("select count(*), max(attempts) from emq.pending") == [(3, 1)]
    go.set()


def test_a_handler_may_run_on_after_the_commit_of_its_completion(bench: Bench) -> None:
    told = []

    def runs_on(job: Job) -> None:
        with psycopg.connect(bench.db.dsn) as connection:
            job.complete(connection)
        told.append(job.wait_cancelled(1))  # several leases

    bench.enqueue(bench.task(runs_on, takes_context=True))
    bench.start(lease=timedelta(seconds=0.3))
    bench.until(ARCHIVED, 1)
    bench.running[-1][0].drain()
    bench.running[-1][1].join(20)
    assert told == [False]
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]


def test_leases_are_kept_after_a_completion_that_was_rolled_back(bench: Bench) -> None:
    rolled_back, go = threading.Event(), threading.Event()

    def again(job: Job) -> None:
        with psycopg.connect(bench.db.dsn) as connection:
            job.complete(connection)
            connection.rollback()
            rolled_back.set()
            assert go.wait(20)
            job.complete(connection)

    bench.enqueue(bench.task(again, takes_context=True))
    bench.start(lease=timedelta(seconds=0.3))
    assert rolled_back.wait(20)
    bench.until("select extensions >= 6 from emq.active")
    go.set()
    bench.until(ARCHIVED, 1)
    assert bench.rows("select attempts, failures from emq.archive") == [(1, 0)]
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]


def test_a_cancelled_job_tells_its_handler_and_can_commit_nothing(bench: Bench) -> None:
    seen: list[object] = []

    def run(job: Job) -> None:
        seen.append(job.wait_cancelled(20))
        with psycopg.connect(bench.db.dsn) as connection:
            try:
                job.complete(connection)
            except LeaseLost as error:
                seen.append(error.code)
                raise

    bench.enqueue(bench.task(run, takes_context=True))
    bench.start(lease=timedelta(seconds=0.3))
    bench.until("select count(*) = 1 from emq.active")
    bench.until("select count(*) > 0 from emq.active a, emq.cancel(a.id, 'no need') c")
    bench.until("select count(*) > 0 from emq.refusal where verb = 'complete'")
    assert seen == [True, "EMQ201"]
    assert bench.rows("select status from emq.archive") == [("cancelled",)]


def test_it_drains_when_told_so_from_another_thread(bench: Bench) -> None:
    go = threading.Event()
    bench.enqueue(bench.task(go.wait), 20.0)
    worker = bench.start()
    bench.until("select count(*) = 1 from emq.active")
    worker.drain()
    go.set()
    bench.running[-1][1].join(20)
    assert bench.rows("select count(*) from emq.archive") == [(1,)]
    assert worker.released_all
    assert bench.rows("select count(*) from emq.worker") == [(0,)]


def test_claims_that_the_server_keeps_refusing_end_the_worker_with_the_reason(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emq_sql.worker.trying.MOST_REFUSALS", 3)
    assert "permission denied" in ended_by(bench, "usage on schema emq")


def test_leases_that_the_server_refuses_to_extend_end_the_worker_with_the_reason(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emq_sql.worker.keeper.MOST_REFUSALS", 3)
    go = threading.Event()
    bench.enqueue(bench.task(go.wait), 20.0)
    try:
        may = "execute on function emq.claim, emq.claimed, emq.release"
        said = ended_by(bench, "usage on schema emq", may)
        assert "permission denied for function keep" in said
        assert bench.rows("select attempts, stalled from emq.pending") == [(1, 0)]
    finally:
        go.set()


def ended_by(bench: Bench, *grants: str) -> str:
    """How a worker ends whose role may do only this."""
    role = f"emq_test_{bench.db.name[-8:]}"
    bench.reader.execute(f"create role {role}".encode())
    for grant in grants:
        bench.reader.execute(f"grant {grant} to {role}".encode())
    dsn = f"{bench.db.dsn}&options=-crole%3D{role}"
    worker = Worker(
        lambda: psycopg.connect(dsn, autocommit=True), "emq", bench.handlers,
        WorkerSettings(("default",), lease=timedelta(seconds=3)), DatabaseEffects("emq"),
    )  # fmt: skip
    try:
        with pytest.raises(Refused) as caught:
            worker.run()
    finally:
        bench.reader.execute(f"drop owned by {role}; drop role {role}".encode())
    return str(caught.value).lower()


def test_while_no_lease_can_be_extended_nothing_is_claimed(bench: Bench) -> None:
    told, go = threading.Event(), threading.Event()

    def run(job: Job) -> None:
        if job.attempts == 1:
            job.wait_cancelled(20)
            told.set()
            assert go.wait(20)

    with proxied(bench.db.dsn) as proxy:

        def connect() -> psycopg.Connection[Any]:
            keeper = threading.current_thread().name == "emq-keeper"
            return psycopg.connect(proxy.dsn if keeper else bench.db.dsn, autocommit=True)

        bench.connect = connect  # type: ignore[method-assign]
        bench.enqueue(bench.task(run, takes_context=True))
        bench.start(lease=timedelta(seconds=0.3))
        bench.until("select count(*) = 1 from emq.active")
        proxy.freeze()
        assert told.wait(20)
        bench.enqueue("run", n=3)
        bench.until("select count(*) = 4 from emq.pending")  # the first was taken back
        go.set()
        bench.until("select count(*) > 0 from emq.refusal")  # the loop goes on settling
        ((thawed,),) = bench.rows("select clock_timestamp()")
        proxy.thaw()
        bench.until("select count(*) >= 1 from emq.archive")
        assert bench.rows("select count(*) from emq.archive where claimed_at < %s", thawed) == [
            (0,)
        ]
