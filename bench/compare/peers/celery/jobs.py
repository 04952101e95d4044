"""The module that `celery` loads: the application and the task."""

from __future__ import annotations

import tally
import wire
from celery import Celery

app = Celery("jobs", broker=wire.DSN)
app.conf.update(
    task_ignore_result=True, worker_prefetch_multiplier=128, task_acks_late=False,
    broker_connection_retry_on_startup=True, worker_send_task_events=False,
)  # fmt: skip


@app.task(name="noop")
def noop(n: int, pad: str) -> None:
    tally.ran(n)
