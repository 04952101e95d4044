"""emq_sql: a job queue in the PostgreSQL you already have.

emq = EMQ("postgresql://app@localhost/shop")

@emq.task(queue="mail", max_attempts=5)
def send(order_id: int) -> None: ...

send.using(session=session).enqueue(order_id=42)   # part of the session's transaction
"""

from __future__ import annotations

from emq_sql.app import EMQ
from emq_sql.effects.current import unguarded
from emq_sql.errors import EmqError, JobFinished, LeaseLost, Permanent
from emq_sql.job import Enqueued
from emq_sql.preparing import Prepared
from emq_sql.rules.backoff import Backoff
from emq_sql.rules.ids import job_id
from emq_sql.tasks import Task
from emq_sql.worker.context import Job

__all__ = [
    "EMQ",
    "Backoff",
    "EmqError",
    "Enqueued",
    "Job",
    "JobFinished",
    "LeaseLost",
    "Permanent",
    "Prepared",
    "Task",
    "job_id",
    "unguarded",
]
