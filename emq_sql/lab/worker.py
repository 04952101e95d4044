"""A worker process of the lab, which ends when the lab does: `python -m emq_sql.lab.worker`."""

from __future__ import annotations

import logging
import os
import sys
import threading
from datetime import timedelta

from emq_sql.lab.styles import application
from emq_sql.service import run_service
from emq_sql.worker.settings import WorkerSettings

SCHEMA, QUEUES, CONCURRENCY = "EMQ_LAB_SCHEMA", "EMQ_LAB_QUEUES", "EMQ_LAB_CONCURRENCY"


def main() -> int:
    """Work until SIGTERM, or until the lab is gone."""
    logging.basicConfig(level="INFO", format="%(name)s %(levelname)s %(message)s")
    threading.Thread(target=_end_with_the_lab, name="lab-watch", daemon=True).start()
    app = application(None, os.environ[SCHEMA])
    settings = WorkerSettings(
        queues=tuple(os.environ[QUEUES].split(",")),
        concurrency=int(os.environ[CONCURRENCY]),
        poll=timedelta(seconds=0.1),
        grace=timedelta(seconds=5),
    )
    return run_service(
        app.connect, app.schema, app.handlers, settings, app.environment,
        listen=False, engine=lambda: app.engine,
    )  # fmt: skip


def _end_with_the_lab() -> None:
    while os.read(0, 512):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
