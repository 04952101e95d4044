"""The lab's application: one task for each style, with the crash points in their places."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any

from emq_sql.app import EMQ
from emq_sql.crashpoints import crash_point
from emq_sql.lab import points
from emq_sql.lab.statements import statement
from emq_sql.worker.context import Job

LEASE = timedelta(seconds=1.5)


def application(dsn: str | None, schema: str) -> EMQ:
    """The application on this database; None is EMQ_DSN, when it is first needed."""
    emq = EMQ(dsn, schema=schema, bell=False)

    @emq.task(lease=LEASE, takes_context=True, guard=False)
    def complete_first(job: Job, cell: int) -> None:
        with _noted(emq, job, cell):
            with emq.engine.begin() as connection:
                job.complete(connection)
            crash_point(points.AFTER_EARLY)
            points.freeze_if_asked()
            with emq.engine.begin() as connection:
                _write(emq, connection, job, cell)
                crash_point(points.MID_WORK)
            crash_point(points.AFTER_EFFECT)

    @emq.task(lease=LEASE, takes_context=True, guard=False)
    def complete_after(job: Job, cell: int) -> None:
        with _noted(emq, job, cell):
            points.freeze_if_asked()
            with emq.engine.begin() as connection:
                _write(emq, connection, job, cell)
                crash_point(points.MID_WORK)
            crash_point(points.AFTER_EFFECT)

    @emq.task(lease=LEASE, takes_context=True)
    def effects_with_complete(job: Job, cell: int) -> None:
        with _noted(emq, job, cell):
            points.freeze_if_asked()
            with job.transaction() as session:
                _write(emq, session.connection(), job, cell)
                crash_point(points.MID_WORK)
            crash_point(points.AFTER_EFFECT)

    @emq.task(lease=LEASE, takes_context=True)
    def guarded(job: Job, cell: int) -> None:
        with _noted(emq, job, cell):
            points.freeze_if_asked()
            with emq.engine.begin() as connection:
                _write(emq, connection, job, cell)
                crash_point(points.MID_WORK)
            crash_point(points.AFTER_EFFECT)

    @emq.task(lease=LEASE, takes_context=True, guard=False)
    def inbox(job: Job, cell: int) -> None:
        with _noted(emq, job, cell):
            points.freeze_if_asked()
            with emq.engine.begin() as connection:
                if job.once(f"cell {cell}", connection):
                    _write(emq, connection, job, cell)
                crash_point(points.MID_WORK)
            crash_point(points.AFTER_EFFECT)

    return emq


def _write(emq: EMQ, connection: Any, job: Job, cell: int) -> None:
    row = {"cell": cell, "job_id": job.id, "attempts": job.attempts, "pid": os.getpid()}
    connection.exec_driver_sql(statement("add_effect", emq.schema), row)


@contextmanager
def _noted(emq: EMQ, job: Job, cell: int) -> Iterator[None]:
    """The run is on record from its beginning, and so is its end, on a connection of their own."""
    run = {"cell": cell, "attempts": job.attempts}
    begun = run | {"pid": os.getpid(), "lease_deadline": job.lease_deadline}
    with closing(emq.connect()) as notes:
        notes.execute(statement("begin_run", emq.schema).encode(), begun)
        crash_point(points.BEFORE_WORK)
        ended = "returned"
        try:
            yield
        except Exception as error:
            ended = type(error).__name__
            raise
        finally:
            notes.execute(statement("end_run", emq.schema).encode(), run | {"ended": ended})
