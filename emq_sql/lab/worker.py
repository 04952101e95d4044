"""One worker process of the lab, from what it is told to its exit code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from emq_sql import crashpoints
from emq_sql.lab.points import FREEZES
from emq_sql.lab.styles import application
from emq_sql.service import run_service
from emq_sql.worker.settings import WorkerSettings


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is to do: `crash_at` is the point where it is killed, with `freezes` it stops
    itself in its work, with neither nothing happens to it.
    """

    schema: str
    queues: Sequence[str]
    concurrency: int = 1
    crash_at: str | None = None
    freezes: bool = False


def work(order: Order) -> int:
    """Until SIGTERM, on the database of EMQ_DSN."""
    if order.crash_at:
        crashpoints.crash_at(order.crash_at)
    if order.freezes:
        os.environ[FREEZES] = "1"
    app = application(None, order.schema)
    settings = WorkerSettings(
        queues=tuple(order.queues),
        concurrency=order.concurrency,
        poll=timedelta(seconds=0.1),
        grace=timedelta(seconds=5),
    )
    return run_service(
        app.connect, app.schema, app.handlers, settings, app.environment,
        listen=False, engine=lambda: app.engine,
    )  # fmt: skip
