"""An application whose handlers end their runs in transactions of their own."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from emq_sql import EMQ, Job
from emq_sql.errors import Ambiguous, CannotGuard, JobFinished, LeaseLost
from tests.effects.conftest import sqlalchemy_url

LEDGER = os.environ.get("EMQ_TEST_LEDGER", "")  # as the tests know it
INSERT = "insert into effect (job, fence, what) values (%s, %s, %s)"
emq = EMQ(os.environ.get("EMQ_DSN"), bell=False)


def write(handle: Any, job: Job, what: str) -> None:
    if isinstance(handle, psycopg.Connection):
        handle.execute(INSERT, [job.id, job.fence, what])
    else:
        named = text("insert into effect (job, fence, what) values (:job, :fence, :what)")
        handle.execute(named, {"job": job.id, "fence": job.fence, "what": what})


def tell_started(job: Job) -> None:
    with psycopg.connect(LEDGER) as connection:
        connection.execute(
            "insert into started (job, attempts, pid) values (%s, %s, %s)",
            [job.id, job.attempts, os.getpid()],
        )


@emq.task(takes_context=True, backoff=3600.0)
def ends(job: Job, kind: Any, how: str) -> str:
    with job.transaction(kind=kind) as handle:
        write(handle, job, how)
        if how == "complete":
            job.complete(handle, {"pid": os.getpid()})
        elif how == "snooze":
            job.snooze(3600)
        elif how == "retry":
            job.retry(3600, "not yet")
        elif how == "early":
            with suppress(CannotGuard, psycopg.ProgrammingError):
                handle.commit()
            raise ValueError("on purpose")
        else:
            raise ValueError("on purpose")
    try:
        job.extend()
    except JobFinished:
        raise ValueError("raised after its commit") from None
    return "is not the result"


@emq.task(takes_context=True, transaction=True)
def ships(job: Job, session: Session, order: int) -> int:
    write(session, job, "ships")
    assert job.once("shipped")
    assert not job.once("shipped")
    return order


@emq.task(takes_context=True)
async def awaits(job: Job) -> str:
    engine = create_async_engine(sqlalchemy_url(LEDGER, "psycopg_async"))
    async with job.atransaction(engine) as session:
        await (await session.connection()).run_sync(lambda c: write(c, job, "awaits"))
        job.complete(session, "awaited")
    await engine.dispose()
    return "is not the result"


@emq.task(takes_context=True, backoff=3600.0)
def retries_outside(job: Job) -> None:
    job.retry(3600, "at once")
    raise ValueError("is ignored")


@emq.task(takes_context=True)
def loses(job: Job) -> str:
    """The first attempt waits in its block until its lease is another one's."""
    if job.attempts > 1:
        return "second"
    try:
        with job.transaction() as session:
            write(session, job, "stale")
            tell_started(job)
            while job.outcome() == "yours":
                time.sleep(0.02)
    except LeaseLost as error:
        assert type(error) is LeaseLost
        raise
    return "first"


@emq.task(takes_context=True)
def loses_its_connection(job: Job) -> str:
    """The session is ended when the end of the run is settled and not committed."""
    if job.attempts > 1:
        return "second"
    with job.transaction() as session:
        write(session, job, "stale")

        @event.listens_for(session, "before_commit")
        def end_it(_: Session) -> None:
            with psycopg.connect(LEDGER, autocommit=True) as other:
                other.execute(
                    "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                    " where datname = current_database() and state = 'idle in transaction'"
                )

        job.complete(session, "never")
    raise Ambiguous("this is not reached")


@emq.task(takes_context=True)
def freezes(job: Job) -> str:
    """The first attempt stops between the statement that settles it and its commit."""
    with job.transaction() as session:
        write(session, job, f"attempt {job.attempts}")
        if job.attempts == 1:
            gate = Path(os.environ["EMQ_TEST_GATE"])

            @event.listens_for(session, "before_commit")
            def wait(_: Session) -> None:
                tell_started(job)
                while not gate.exists():
                    time.sleep(0.02)

    return "done"
