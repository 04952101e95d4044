"""The application of the workers that are told of an operator's cancel; `--app` names it.

EMQ_TEST_ENGINE leads its handlers elsewhere than EMQ_DSN does. Its leases are so long that no
extension comes while a test waits.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import psycopg
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from emq_sql import EMQ
from emq_sql.worker.context import Job
from emq_sql.worker.processes import pool

DSN = os.environ["EMQ_DSN"]
URL = os.environ.get("EMQ_TEST_ENGINE", DSN).replace("postgresql:", "postgresql+psycopg:", 1)
LEASE = 600
pool.LOST_GRACE = float(os.environ.get("EMQ_TEST_GRACE", pool.LOST_GRACE))

emq = EMQ(DSN)
engine = create_engine(URL, pool_size=4)
async_engine = create_async_engine(URL)

WRITE = "insert into effect (job, fence, what, pid) values (:job, :fence, :what, :pid)"
LOCK = "select pg_advisory_xact_lock(42)"  # as long as the test holds it


def row(job: Job, what: str) -> dict[str, Any]:
    return {"job": job.id, "fence": job.fence, "what": what, "pid": os.getpid()}


def note(job: Job, what: str) -> None:
    """On a connection of the driver's, which nothing guards."""
    with psycopg.connect(DSN) as connection:
        connection.execute(
            "insert into effect (job, fence, what, pid) values (%s, %s, %s, %s)",
            list(row(job, what).values()),
        )


def begins(job: Job) -> None:
    with psycopg.connect(DSN) as connection:
        connection.execute(
            "insert into started (job, attempts, pid) values (%s, %s, %s)",
            [job.id, job.attempts, os.getpid()],
        )


def by_hook(job: Job) -> None:
    with Session(engine) as session:
        session.execute(text(WRITE), row(job, "stale"))
        session.commit()


def by_hand(job: Job) -> None:
    with psycopg.connect(DSN) as connection:
        connection.execute("insert into effect (job, what) values (%s, 'stale')", [job.id])
        connection.execute("select emq.guard_commit(%s, %s)", [job.id, job.fence])


def by_completing(job: Job) -> None:
    with Session(engine) as session:
        session.execute(text(WRITE), row(job, "stale"))
        job.complete(session)
        session.commit()


def by_extending(job: Job) -> None:
    job.extend()


TRIES: tuple[Callable[[Job], None], ...] = (by_hook, by_hand, by_completing, by_extending)


def tries_all(job: Job) -> None:
    """Everything by which a holder may commit something for its job, and what became of it."""
    note(job, f"told: {job.cancel_reason}")
    for attempt in TRIES:
        try:
            attempt(job)
        except Exception as error:
            note(job, f"{attempt.__name__}: {type(error).__name__}: {error}")
        else:
            note(job, f"{attempt.__name__}: passed")


@emq.task(takes_context=True, lease=LEASE)
def goes_on(job: Job) -> str:
    begins(job)
    job.wait_cancelled()
    tries_all(job)
    return "as if nothing were"


@emq.task(takes_context=True, lease=LEASE)
async def goes_on_async(job: Job) -> None:
    begins(job)
    try:
        await asyncio.sleep(600)
    finally:
        await asyncio.to_thread(tries_all, job)


def in_sql(job: Job, statement: str) -> None:
    try:
        with engine.begin() as connection:
            connection.execute(text(WRITE), row(job, "written"))
            begins(job)
            connection.execute(text(statement))
    except DBAPIError as error:
        note(job, type(error.orig).__name__)
        raise


@emq.task(takes_context=True, lease=LEASE)
def waits_in_sql(job: Job) -> None:
    in_sql(job, LOCK)


@emq.task(takes_context=True, lease=LEASE, cancel_sql=True)
def wants_it(job: Job) -> None:
    in_sql(job, LOCK)


@emq.task(takes_context=True, lease=LEASE, max_attempts=5, backoff=3600)
def guards_first(job: Job) -> None:
    with engine.begin() as connection:
        job.guard(connection)
        begins(job)
        connection.execute(text(LOCK))


@emq.task(takes_context=True, lease=LEASE)
async def waits_in_sql_async(job: Job) -> None:
    async with async_engine.begin() as connection:
        await connection.execute(text(WRITE), row(job, "written"))
        begins(job)
        await connection.execute(text(LOCK))


@emq.task(takes_context=True, lease=LEASE)
def is_deaf(job: Job) -> None:
    """Swallows whatever it is told, and goes on in SQL."""
    begins(job)
    while True:
        try:
            with engine.begin() as connection:
                connection.execute(text("select pg_sleep(600)"))
        except Exception:
            continue


@emq.task
def quick() -> str:
    return "done"
