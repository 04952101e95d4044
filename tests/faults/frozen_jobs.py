"""Handlers whose process freezes in its first attempt, with its write in an open transaction."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import psycopg
from sqlalchemy.engine import Connection, Engine

from emq_sql.protocol import connecting
from emq_sql.worker.context import Job
from emq_sql.worker.handler import Handler

TABLES = """
create table looked (job uuid, attempts int, pid int, saw int[], ended text);
create table written (job uuid, attempts int, kind text);
"""


@cache
def _engine() -> Engine:
    return connecting.engine_for(os.environ["EMQ_DSN"])


@contextmanager
def _noted(job: Job, held: bool) -> Iterator[None]:
    """The first act of a run is to look which attempts have written by now: its claim is committed,
    so whoever of them is not seen here, and is there in the end, has committed as a stale one.

    With `held` a later run keeps its lease until the first one has ended.
    """
    with psycopg.connect(os.environ["EMQ_DSN"], autocommit=True) as notes:
        notes.execute(
            "insert into looked (job, attempts, pid, saw)"
            " select %(job)s, %(attempts)s, %(pid)s,"
            " array(select attempts from written where job = %(job)s)",
            {"job": job.id, "attempts": job.attempts, "pid": os.getpid()},
        )
        first = "select from looked where job = %s and attempts = 1 and ended is not null"
        while held and job.attempts > 1 and not notes.execute(first, [job.id]).fetchall():
            time.sleep(0.05)
    ended = "returned"
    try:
        yield
    except Exception as error:
        ended = type(error).__name__
        raise
    finally:
        with psycopg.connect(os.environ["EMQ_DSN"], autocommit=True) as notes:
            notes.execute(
                "update looked set ended = %s where job = %s and attempts = %s",
                [ended, job.id, job.attempts],
            )


def _write_and_freeze(connection: Connection, job: Job) -> None:
    connection.exec_driver_sql(
        "insert into written (job, attempts, kind) values (%s, %s, %s)",
        (job.id, job.attempts, job.task),
    )
    if job.attempts == 1:
        # To this very thread: another one might take it, and this one go on for a moment.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


def guarded(job: Job, held: bool) -> None:
    """A transaction of its own; nobody wrote anything of a guard."""
    with _noted(job, held), _engine().begin() as connection:
        _write_and_freeze(connection, job)


def holding(job: Job, held: bool) -> None:
    """Frozen when it has asked already; it held the job, did not the server end its session."""
    with _noted(job, held), _engine().begin() as connection:
        job.guard(connection)
        _write_and_freeze(connection, job)


def together(job: Job, held: bool) -> None:
    """The effect and the completion in one transaction."""
    with _noted(job, held), job.transaction() as session:
        _write_and_freeze(session.connection(), job)


HANDLERS = {
    handler.task: handler
    for handler in (
        Handler("guarded", guarded, takes_context=True),
        Handler("holding", holding, takes_context=True),
        Handler("together", together, takes_context=True),
        Handler("unguarded", guarded, takes_context=True, guard=False),
    )
}
