"""The tasks that the worker processes of these tests run."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from emq_sql import EMQ
from emq_sql.errors import BadJobId
from emq_sql.job import NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import enqueueing
from emq_sql.worker.context import Job
from emq_sql.worker.handler import Handler

TABLES = """
create table effect (
  job uuid, fence bigint, what text, pid int, at timestamptz default clock_timestamp());
create table started (job uuid, attempts int, pid int, at timestamptz default clock_timestamp());
create table go (key text);
"""


def _connect() -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(os.environ["EMQ_DSN"])


def _write(connection: psycopg.Connection[tuple[object, ...]], job: Job, what: str = "") -> None:
    connection.execute(
        "insert into effect (job, fence, what, pid) values (%s, %s, %s, %s)",
        [job.id, job.fence, what, os.getpid()],
    )


def _tell_started(job: Job) -> None:
    with _connect() as connection:
        connection.execute(
            "insert into started (job, attempts, pid) values (%s, %s, %s)",
            [job.id, job.attempts, os.getpid()],
        )


def plain(job: Job, seconds: float = 0.0) -> str:
    """An effect in a transaction of its own; the worker completes the job after it."""
    time.sleep(seconds)
    with _connect() as connection:
        _write(connection, job)
    return "done"


def own(job: Job, seconds: float = 0.0) -> None:
    """The effect and the completion in one transaction."""
    time.sleep(seconds)
    with _connect() as connection:
        _write(connection, job)
        job.complete(connection, "done")


def own_session(job: Job) -> None:
    """The same with a Session of SQLAlchemy."""
    url = os.environ["EMQ_DSN"].replace("postgresql://", "postgresql+psycopg://", 1)
    engine = create_engine(url)
    with Session(engine) as session:
        insert = text("insert into effect (job, fence) values (:job, :fence)")
        session.execute(insert, {"job": job.id, "fence": job.fence})
        job.complete(session, {"by": "session"})
        session.commit()
    engine.dispose()


def too_early(job: Job) -> None:
    """Wrong on purpose: completes before its effect, and the process dies between the two."""
    with _connect() as connection:
        job.complete(connection)
    os.kill(os.getpid(), signal.SIGKILL)
    with _connect() as connection:  # never reached
        _write(connection, job)


def dies_after_effect(job: Job) -> None:
    """Its effect is there, its completion is not: the first process dies between the two."""
    with _connect() as connection:
        _write(connection, job)
    if job.attempts == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def dies(job: Job, times: int) -> None:
    """Kills its worker the given number of times."""
    if job.attempts <= times:
        os.kill(os.getpid(), signal.SIGKILL)


def hold(job: Job, key: str = "go") -> str:
    """Runs until the test writes the key into `go`, or until it is told to stop."""
    _tell_started(job)
    with _connect() as connection:
        connection.autocommit = True
        while not job.cancelled:
            if connection.execute("select 1 from go where key = %s", [key]).fetchone():
                return "went"
            job.wait_cancelled(0.02)
    return "was told to stop"


def deaf(job: Job, key: str = "go") -> str:
    """As `hold`, and never asks whether it should stop."""
    _tell_started(job)
    while True:
        try:
            with _connect() as connection:
                connection.autocommit = True
                while not connection.execute("select 1 from go where key = %s", [key]).fetchone():
                    time.sleep(0.02)
                return "went"
        except psycopg.OperationalError:
            time.sleep(0.02)


def deaf_in_a_pool(job: Job) -> str:
    """Waits for a thread of its own, which the interpreter would wait for at its exit."""
    with ThreadPoolExecutor() as pool:
        return pool.submit(deaf, job).result()


async def deaf_coroutine(job: Job) -> str:
    """The same on the event loop, in a thread that nobody can end."""
    return await asyncio.to_thread(deaf, job)


async def deaf_to_the_end(job: Job) -> str:
    """Swallows each cancellation."""
    _tell_started(job)
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            continue


async def lets_go(job: Job, key: str = "go") -> str:
    """Runs until the key is there, on the event loop; ends when its task is cancelled."""
    _tell_started(job)
    while True:
        with _connect() as connection:
            if connection.execute("select 1 from go where key = %s", [key]).fetchone():
                return "went"
        await asyncio.sleep(0.02)


def hold_then_own(job: Job, key: str = "go") -> None:
    """Holds, deaf, with its transaction to be: then effect and completion in one transaction.

    It swallows the refusal and commits all the same, as wrong code would.
    """
    deaf(job, key)
    with _connect() as connection:
        _write(connection, job)
        try:
            job.complete(connection)
        except Exception as error:
            with _connect() as other:
                _write(other, job, f"{type(error).__name__}")
        connection.commit()


def c_sleep(seconds: float) -> str:
    """Blocks in C."""
    time.sleep(seconds)
    return "slept"


def spin(seconds: float) -> int:
    """Burns the processor and holds the interpreter as much as it can."""
    until, n = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        n += 1
    return n


async def awaits(seconds: float) -> str:
    """Gives way to the others all the time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        await asyncio.sleep(0.01)
    return "awaited"


def holds_gil(job: Job, seconds: float) -> str:
    """Sleeps in C and lets no other thread of its process run meanwhile, in its first attempt."""
    if job.attempts == 1:
        _tell_started(job)
        ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
    with _connect() as connection:
        _write(connection, job)
        job.complete(connection)
    return "let go"


def fails(job: Job, times: int = 1) -> str:
    """Raises in its first attempts."""
    if job.attempts <= times:
        raise ValueError("fails on purpose")
    return "in the end"


def enqueues(job: Job) -> str:
    """Enqueues another job, by this process's clock; notes what became of it."""
    with _connect() as connection:
        try:
            child = NewJob("plain", "{}", new_id())
            done = enqueueing.enqueue(connection, "emq", "default", child)
        except BadJobId as error:
            connection.rollback()
            _write(connection, job, f"{error}")
            return "refused"
        _write(connection, job, f"{done.id}")
    return "enqueued"


def follows(left: int) -> None:
    """Enqueues the next of its kind, as handlers do."""
    if left:
        app = EMQ(os.environ["EMQ_DSN"])
        app.task(follows).enqueue(left=left - 1)
        app.flush_rings()
        app.engine.dispose()


def out_of_time(job: Job) -> str:
    """Longer than its timeout; ends when it is told to stop."""
    job.wait_cancelled(600)
    return "late"


def snowman() -> str:
    """A result that a LATIN1 database has no letters for."""
    return "\N{SNOWMAN}"


HANDLERS = {
    handler.task: handler
    for handler in (
        Handler("plain", plain, takes_context=True),
        Handler("own", own, takes_context=True),
        Handler("own_session", own_session, takes_context=True),
        Handler("too_early", too_early, takes_context=True),
        Handler("dies_after_effect", dies_after_effect, takes_context=True),
        Handler("dies", dies, takes_context=True),
        Handler("hold", hold, takes_context=True),
        Handler("deaf", deaf, takes_context=True),
        Handler("deaf_in_a_pool", deaf_in_a_pool, takes_context=True),
        Handler("deaf_coroutine", deaf_coroutine, takes_context=True),
        Handler("deaf_to_the_end", deaf_to_the_end, takes_context=True),
        Handler("lets_go", lets_go, takes_context=True),
        Handler("hold_then_own", hold_then_own, takes_context=True),
        Handler("c_sleep", c_sleep),
        Handler("snowman", snowman),
        Handler("spin", spin),
        Handler("awaits", awaits),
        Handler("holds_gil", holds_gil, takes_context=True),
        Handler("fails", fails, takes_context=True, backoff=0.05),
        Handler("enqueues", enqueues, takes_context=True),
        Handler("follows", follows),
        Handler(
            "out_of_time",
            out_of_time,
            takes_context=True,
            timeout=timedelta(seconds=0.3),
            backoff=0.05,
        ),
    )
}
