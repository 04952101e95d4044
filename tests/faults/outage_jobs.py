"""The tasks of the outages: they use the database as an application would, also when it is away."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import psycopg

from emq_sql.worker.context import Job
from emq_sql.worker.handler import Handler

TABLES = "create table effect (job uuid, fence bigint, at timestamptz default clock_timestamp())"


def _connect() -> psycopg.Connection[Any]:
    # Without prepared statements, as the documentation says for a pooler.
    return psycopg.connect(os.environ["EMQ_DSN"], prepare_threshold=None, connect_timeout=5)


def _write(connection: psycopg.Connection[Any], job: Job) -> None:
    connection.execute("insert into effect values (%s, %s)", [job.id, job.fence])


def plain(job: Job, seconds: float) -> None:
    """An effect in a transaction of its own; the worker completes the job after it."""
    time.sleep(seconds)
    with _connect() as connection:
        _write(connection, job)


def own(job: Job, seconds: float) -> None:
    """The effect and the completion in one transaction."""
    with _connect() as connection:
        _write(connection, job)
        time.sleep(seconds)
        job.complete(connection)


def long(job: Job, until: str) -> None:
    """Runs until a file is there, whatever becomes of the database meanwhile."""
    while not Path(until).exists():
        time.sleep(0.02)
    own(job, 0.0)


HANDLERS = {
    handler.task: handler
    for handler in (
        Handler("plain", plain, takes_context=True, backoff=0.2),
        Handler("own", own, takes_context=True, backoff=0.2),
        Handler("long", long, takes_context=True, backoff=0.2),
    )
}
