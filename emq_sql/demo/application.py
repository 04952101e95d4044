"""The application of the demo: its ledger, its settings and its two tasks."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from emq_sql.app import EMQ
from emq_sql.demo import measuring
from emq_sql.demo.paths import real
from emq_sql.demo.queries import Schemas
from emq_sql.tasks import Task
from emq_sql.worker.context import Job

QUEUE = "files"
LEASE = timedelta(seconds=2.5)
# One job may be in hand at each of the faults, three times; the usual three would end it.
MAX_STALLED = 20
PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class Application:
    """One EMQ and the tasks that are registered with it."""

    emq: EMQ
    measure: Task[..., None]
    measure_slowly: Task[..., None]


def application(dsn: str | None, schemas: Schemas) -> Application:
    """The demo's application on this database; None is EMQ_DSN, when it is first needed."""
    emq = EMQ(dsn, schema=schemas.ledger)

    @emq.task(queue=QUEUE, lease=LEASE, takes_context=True)
    def measure(job: Job, path: str) -> None:
        """Measure the file at this path, as `paths.written` wrote it."""
        _finish(job, path, measuring.measure(real(path)))

    @emq.task(queue=QUEUE, lease=LEASE, takes_context=True)
    def measure_slowly(job: Job, path: str) -> None:
        """The same work with pauses, so that a fault is certain to meet it at work.

        It does not look at `job.cancelled`, as many a handler does not.
        """
        _finish(job, path, measuring.measure(real(path), PAUSE))

    def _finish(job: Job, path: str, found: measuring.Measured) -> None:
        values: dict[str, Any] = asdict(found)
        row = values | {
            "path": path, "job_id": job.id, "fence": job.fence, "attempts": job.attempts,
            "measured_by": f"pid {os.getpid()}",
        }  # fmt: skip
        with emq.engine.begin() as connection:
            connection.exec_driver_sql(schemas.text("add_result"), row)
            job.complete(connection, result={"lines": found.lines, "error": found.error})

    return Application(emq, measure, measure_slowly)
