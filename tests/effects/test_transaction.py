"""job.transaction in threads: effects and the end of a run are one transaction, or neither is."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, sessionmaker

from emq_sql.errors import (
    BadPayload,
    BadSetting,
    BadTime,
    CannotGuard,
    JobFinished,
    LeaseLost,
    UnsupportedHandle,
)
from emq_sql.worker.context import Job
from tests.effects.conftest import sqlalchemy_url
from tests.worker.conftest import Bench

KINDS = ("session", "connection", "psycopg")
# The effect and the record of how the run ended, written by one and the same transaction.
AS_ONE = """
select count(*) = count(*) filter (where e.xmin::text in (
  select x.xmin::text from emq.archive x union all select y.xmin::text from emq.attempt y))
   and count(*) > 0 and count(*) = count(distinct e.xmin::text) from effect e
"""
EFFECTS = "select count(*) from effect"
ENDS = "select how from emq.attempt union all select status from emq.archive"
HANDLER_FAILED = "on purpose"

Run = Callable[..., None]


def write(handle: Any, n: int = 1) -> None:
    if isinstance(handle, psycopg.Connection):
        handle.execute("insert into effect values (%s)", [n])
    else:
        handle.execute(text("insert into effect values (:n)"), {"n": n})


@pytest.fixture
def run(bench: Bench) -> Run:
    """Runs jobs of this handler with these arguments, one unless told otherwise, in a burst."""
    bench.reader.execute("create table effect (n int)")

    def runs(handler: Callable[..., Any], *args: Any, n: int = 1, **given: Any) -> None:
        given.setdefault("takes_context", True)
        bench.enqueue(bench.task(handler, **given), *args, n=n)
        bench.burst(concurrency=2)

    return runs


def take_away(bench: Bench, job: Job) -> None:
    """Its lease is over, and the upkeep takes it back."""
    bench.reader.execute(
        "update emq.active set lease_deadline = clock_timestamp() - interval '1 s' where id = %s",
        [job.id],
    )
    bench.until("select count(*) = 0 from emq.active where fence = %s", job.fence)


def refusals(bench: Bench) -> int:
    ((count,),) = bench.rows("select count(*) from emq.refusal")
    return int(count)


def test_effects_and_completion_are_one_transaction(bench: Bench, run: Run) -> None:
    def handler(job: Job, kind: Any) -> str:
        with job.transaction(kind=kind) as handle:
            write(handle)
            job.complete(handle, {"n": 1})
            assert bench.rows(EFFECTS) == [(KINDS.index(kind),)]
        return "is not the result"

    for kind in KINDS:
        run(handler, kind)
    assert bench.rows(AS_ONE) == [(True,)]
    assert bench.rows(EFFECTS) == [(3,)]
    assert bench.rows("select status, result from emq.archive") == [("completed", {"n": 1})] * 3
    assert refusals(bench) == 0


def test_a_block_that_raises_leaves_neither(bench: Bench, run: Run) -> None:
    def handler(job: Job, kind: Any, rollback: bool) -> None:
        with job.transaction(kind=kind) as handle:
            write(handle)
            job.complete(handle)
            raise psycopg.Rollback if rollback else ValueError(HANDLER_FAILED)

    for kind, rollback in (*((kind, False) for kind in KINDS), ("psycopg", True)):
        run(handler, kind, rollback, backoff=3600.0)
    assert bench.rows(EFFECTS) == [(0,)]
    assert bench.rows(ENDS) == [("failed",)] * 4
    assert refusals(bench) == 0


def test_what_says_nothing_completes_with_nothing(bench: Bench, run: Run) -> None:
    def handler(job: Job) -> str:
        with job.transaction() as session:
            session.execute(text("insert into effect values (1)"))
        return "is not the result"

    run(handler)
    assert bench.rows("select status, result from emq.archive") == [("completed", None)]
    assert bench.rows(AS_ONE) == [(True,)]


def test_it_takes_an_engine_or_a_sessionmaker_of_the_applications(
    bench: Bench, run: Run, db: Any
) -> None:
    application = create_engine(sqlalchemy_url(db.dsn), connect_args={"application_name": "shop"})
    make = sessionmaker(application, expire_on_commit=False)
    sources: list[Any] = [application, make]

    def handler(job: Job, n: int) -> None:
        with job.transaction(sources[n]) as session:
            assert isinstance(session, Session)
            name = session.scalar(text("select current_setting('application_name')"))
            job.complete(session, name)

    task = bench.task(handler, takes_context=True)
    for n in range(2):
        bench.enqueue(task, n)
    bench.burst()
    application.dispose()
    assert bench.rows("select result from emq.archive") == [("shop",), ("shop",)]


def test_what_is_no_source_is_refused(bench: Bench, run: Run, db: Any) -> None:
    autocommit = create_engine(sqlalchemy_url(db.dsn), isolation_level="AUTOCOMMIT")
    twophase = sessionmaker(bench.engine, twophase=True)
    wrong: list[tuple[Any, Any]] = [
        (autocommit, "session"), (autocommit, "connection"), (twophase, "session"),
        (sessionmaker(bench.engine), "connection"), (object(), "session"), ("x", "psycopg"),
        (None, "cursor"),
    ]  # fmt: skip
    refused = []

    def handler(job: Job) -> None:
        for source, kind in wrong:
            with pytest.raises(UnsupportedHandle) as caught, job.transaction(source, kind=kind):
                pass
            refused.append(caught.value)
        with job.transaction(autocommit, kind="psycopg") as connection:
            write(connection)

    run(handler)
    autocommit.dispose()
    assert len(refused) == len(wrong)
    assert bench.rows(AS_ONE) == [(True,)]


def test_a_snooze_is_committed_with_the_effects_and_costs_nothing(
    bench: Bench, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(job: Job, kind: Any) -> None:
        with job.transaction(kind=kind) as handle:
            write(handle)
            job.complete(handle, "the last word counts")
            job.snooze(3600)
        with pytest.raises(JobFinished):
            job.extend()

    for kind in KINDS:
        run(handler, kind)
    assert bench.rows(AS_ONE) == [(True,)]
    assert bench.rows(ENDS) == [("snoozed",)] * 3
    waits = "select failures, stalled, run_at > now() + interval '59 min' from emq.scheduled"
    assert bench.rows(waits) == [(0, 0, True)] * 3
    assert refusals(bench) == 0
    assert "lost" not in caplog.text


def test_a_retry_is_committed_with_the_effects_and_counts_one_failure(
    bench: Bench, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(job: Job, kind: Any) -> None:
        with job.transaction(kind=kind) as handle:
            write(handle)
            job.retry(3600, "not yet: €")

    for kind in KINDS:
        run(handler, kind)
    assert bench.rows(AS_ONE) == [(True,)]
    assert bench.rows("select how, error from emq.attempt") == [("failed", "not yet: €")] * 3
    waits = "select failures, run_at > now() + interval '59 min' from emq.scheduled"
    assert bench.rows(waits) == [(1, True)] * 3
    assert refusals(bench) == 0
    assert "lost" not in caplog.text


def test_a_retry_that_spends_the_budget_makes_a_dead_letter_once(
    bench: Bench, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    bench.reader.execute("select emq.configure('default', p_max_attempts => 1)")

    def handler(job: Job) -> None:
        with job.transaction() as session:
            write(session)
            job.retry(error=ValueError(HANDLER_FAILED))

    run(handler)
    assert bench.rows(EFFECTS) == [(1,)]
    ((failures, error),) = bench.rows("select failures, error from emq.dead")
    assert failures == 1 and HANDLER_FAILED in error
    assert refusals(bench) == 0
    assert "is a dead letter" in caplog.text and "lost" not in caplog.text


def test_outside_of_a_transaction_a_retry_ends_the_run_as_a_failure(bench: Bench) -> None:
    def handler(job: Job) -> str:
        if job.attempts == 3:
            return "done"
        if job.attempts == 1:
            job.retry(0, ValueError(HANDLER_FAILED))
        else:
            job.retry(error="by the task's backoff")
        with pytest.raises(JobFinished):
            job.retry()
        with pytest.raises(BadTime):
            job.retry(-1)
        raise RuntimeError("is ignored")

    bench.enqueue(bench.task(handler, takes_context=True, backoff=0.0))
    bench.start()
    bench.until("select count(*) = 1 from emq.archive")
    assert bench.rows("select attempts, failures, result from emq.archive") == [(3, 2, "done")]
    errors = [error for (error,) in bench.rows("select error from emq.attempt order by fence")]
    assert HANDLER_FAILED in errors[0] and errors[1] == "by the task's backoff"


@pytest.mark.parametrize("commits", [True, False], ids=["commit", "rollback"])
def test_retry_and_snooze_may_be_part_of_a_transaction_of_the_handlers_own(
    bench: Bench, run: Run, commits: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(job: Job, verb: str) -> None:
        with Session(bench.engine) as session:
            write(session)
            getattr(job, verb)(3600, handle=session)
            (session.commit if commits else session.rollback)()

    for verb in ("retry", "snooze"):
        run(handler, verb, backoff=3600.0)
    assert bench.rows(EFFECTS) == [(2 if commits else 0,)]
    assert sorted(bench.rows(ENDS)) == [("failed",), ("snoozed" if commits else "failed",)]
    failures = [(0,), (1,)] if commits else [(1,), (1,)]
    assert sorted(bench.rows("select failures from emq.scheduled")) == failures
    assert refusals(bench) == 0
    assert "lease lost" not in caplog.text


def test_a_handler_that_raises_after_its_commit_changes_nothing(
    bench: Bench, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(job: Job) -> None:
        with job.transaction() as session:
            write(session)
        raise ValueError(HANDLER_FAILED)

    run(handler)
    assert bench.rows(AS_ONE) == [(True,)]
    assert bench.rows(ENDS) == [("completed",)]
    said = [record.getMessage() for record in caplog.records if HANDLER_FAILED in record.message]
    assert len(said) == 1 and "had completed when its handler raised" in said[0]


def test_nothing_more_is_committed_for_a_job_that_is_settled(bench: Bench, run: Run) -> None:
    def handler(job: Job) -> None:
        with job.transaction() as session:
            write(session)
        for late in (
            lambda: job.transaction().__enter__(),
            job.extend,
            lambda: job.snooze(1),
            job.retry,
        ):
            with pytest.raises(JobFinished):
                late()
        with Session(bench.engine) as session:
            write(session, 2)
            with pytest.raises(JobFinished):
                job.complete(session)
            with pytest.raises(JobFinished):
                session.commit()

    run(handler)
    assert bench.rows("select n from effect") == [(1,)]
    assert bench.rows(ENDS) == [("completed",)]


def test_a_second_transaction_after_one_of_unknown_fate_asks_the_database(
    bench: Bench, run: Run
) -> None:
    """The handler does not know that its own transaction has committed: the database does."""

    def handler(job: Job) -> None:
        with psycopg.connect(bench.db.dsn) as connection:
            write(connection)
            job.complete(connection)
        with pytest.raises(JobFinished), job.transaction(kind="psycopg") as connection:
            write(connection, 2)

    run(handler)
    assert bench.rows("select n from effect") == [(1,)]
    assert bench.rows(ENDS) == [("completed",)]
    assert refusals(bench) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_commits_in_the_block(bench: Bench, run: Run, kind: Any) -> None:
    raised = []

    def handler(job: Job) -> None:
        with job.transaction(kind=kind) as handle:
            write(handle)
            try:
                handle.commit()
            except (CannotGuard, psycopg.ProgrammingError) as error:
                raised.append(type(error))
            assert bench.rows(EFFECTS) == [(0,)]
            write(handle, 2)

    run(handler, backoff=3600.0)
    assert raised == [psycopg.ProgrammingError if kind == "psycopg" else CannotGuard]
    if kind == "connection":  # SQLAlchemy has given that transaction up: nothing of it may stand
        assert bench.rows(EFFECTS) == [(0,)]
        assert bench.rows(ENDS) == [("failed",)]
    else:
        assert bench.rows("select n from effect order by n") == [(1,), (2,)]
        assert bench.rows(ENDS) == [("completed",)]


def test_savepoints_and_rollbacks_to_them_are_the_handlers(bench: Bench, run: Run) -> None:
    def handler(job: Job) -> None:
        with job.transaction() as session:
            with session.begin_nested():
                write(session, 1)
            with pytest.raises(ValueError, match="undone"), session.begin_nested():
                write(session, 2)
                raise ValueError("undone")

    run(handler)
    assert bench.rows("select n from effect") == [(1,)]
    assert bench.rows(ENDS) == [("completed",)]


def test_who_has_lost_the_job_commits_nothing_and_the_pool_is_clean(bench: Bench, run: Run) -> None:
    def handler(job: Job, kind: Any) -> None:
        if job.attempts > 1:
            return
        with pytest.raises(LeaseLost) as caught, job.transaction(kind=kind) as handle:
            write(handle)
            take_away(bench, job)
        assert type(caught.value) is LeaseLost
        raise caught.value

    for kind in KINDS:
        run(handler, kind)
    bench.until("select count(*) = 3 from emq.archive")
    assert bench.rows(EFFECTS) == [(0,)]
    with bench.engine.connect() as connection:
        assert connection.scalar(text("select pg_current_xact_id_if_assigned() is null"))
    bench.until("select count(*) = 3 from emq.refusal")
    assert bench.rows("select attempts from emq.archive") == [(2,)] * 3


def test_an_error_at_the_commit_goes_on_and_leaves_neither(bench: Bench, run: Run) -> None:
    bench.reader.execute(
        "create table one (n int unique deferrable initially deferred); insert into one values (1)"
    )

    def handler(job: Job) -> None:
        with pytest.raises(IntegrityError) as caught, job.transaction() as session:
            session.execute(text("insert into one values (1)"))
        assert job.outcome() == "yours"
        with bench.engine.connect() as connection:
            assert connection.scalar(text("select count(*) from one")) == 1
        raise caught.value

    run(handler, backoff=3600.0)
    assert bench.rows(ENDS) == [("failed",)]
    assert refusals(bench) == 0


def test_a_failed_statement_that_was_swallowed_leaves_neither(bench: Bench, run: Run) -> None:
    def handler(job: Job) -> None:
        with job.transaction(kind="psycopg") as connection:
            write(connection)
            with pytest.raises(psycopg.Error):
                connection.execute("select 1 / 0")

    run(handler, backoff=3600.0)
    assert bench.rows(EFFECTS) == [(0,)]
    assert bench.rows(ENDS) == [("failed",)]


def test_one_block_is_open_at_a_time(bench: Bench, run: Run) -> None:
    def handler(job: Job) -> None:
        with job.transaction():
            with pytest.raises(BadSetting), job.transaction():
                pass
            job.complete(None, "the block's own")

    run(handler)
    assert bench.rows("select result from emq.archive") == [("the block's own",)]


def test_a_result_that_is_no_json_is_refused_in_the_block(bench: Bench, run: Run) -> None:
    def handler(job: Job) -> None:
        with job.transaction() as session:
            write(session)
            with pytest.raises(BadPayload):
                job.complete(session, {1, 2})

    run(handler)
    assert bench.rows(AS_ONE) == [(True,)]
    assert bench.rows("select result from emq.archive") == [(None,)]


def test_a_run_that_is_settled_so_costs_one_statement_and_no_question(
    bench: Bench, run: Run
) -> None:
    bench.reader.execute(f"alter database {bench.db.name} set track_functions = 'all'")

    def handler(job: Job) -> None:
        with job.transaction() as session:
            write(session)

    run(handler, n=5)
    bench.engine.dispose()
    called = """
    select coalesce(sum(calls) filter (where funcname = 'settle'), 0) = 5
       and coalesce(sum(calls) filter (where funcname in
             ('decided', 'outcome', 'guard', 'guard_commit')), 0) = 0
      from pg_stat_user_functions where schemaname = 'emq'
    """
    bench.until("select coalesce(sum(calls), 0) >= 5 from pg_stat_user_functions"
                " where schemaname = 'emq' and funcname = 'settle'")  # fmt: skip
    assert bench.rows(called) == [(True,)]


def test_a_job_that_goes_on_after_its_commit_is_neither_extended_nor_told_that_it_is_lost(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.reader.execute("select emq.configure('default', p_lease => '300 ms')")
    seen: list[Any] = []

    def handler(job: Job) -> None:
        with job.transaction() as session:
            session.execute(text("select 1"))
        seen.append(job.wait_cancelled(0.7))

    bench.enqueue(bench.task(handler, takes_context=True))
    with caplog.at_level(logging.INFO):
        bench.burst()
    assert seen == [False]
    assert "lost" not in caplog.text
    assert bench.rows("select count(*) from emq.refusal") == [(0,)]
