"""One long job, in versions that heed that they are told to stop and versions that do not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psycopg

from emq_sql.worker.context import Job
from emq_sql.worker.handler import Handler


def long(job: Job, until: str) -> str:
    """Runs until the file is there; only every second attempt looks whether it should stop."""
    with psycopg.connect(os.environ["EMQ_DSN"]) as connection:
        connection.execute(
            "insert into started (job, attempts, pid) values (%s, %s, %s)",
            [job.id, job.attempts, os.getpid()],
        )
    while not Path(until).exists():
        if job.attempts % 2 and job.cancelled:
            return "was told to stop"
        time.sleep(0.005)
    return "went"


HANDLERS = {"long": Handler("long", long, takes_context=True)}
