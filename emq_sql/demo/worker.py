"""A worker process of the demo, which ends when the demo does: `python -m emq_sql.demo.worker`.

What `emq worker` does, and two things more: the schemas come from the environment, and the end of
standard input, which only the demo holds, ends it at once, kill -9 of the demo included.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from datetime import timedelta

from emq_sql.demo.application import QUEUE, application
from emq_sql.demo.queries import Schemas
from emq_sql.service import run_service
from emq_sql.worker.settings import WorkerSettings

LEDGER, FILES, CONCURRENCY = "EMQ_DEMO_LEDGER", "EMQ_DEMO_FILES", "EMQ_DEMO_CONCURRENCY"


def main() -> int:
    """Work until SIGTERM, or until the demo is gone."""
    logging.basicConfig(
        level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr
    )
    warnings.simplefilter("ignore")  # of the sources that are parsed, not of ours
    threading.Thread(target=_end_with_the_demo, name="demo-watch", daemon=True).start()
    app = application(None, Schemas(os.environ[LEDGER], os.environ[FILES])).emq
    settings = WorkerSettings(
        queues=(QUEUE,),
        concurrency=int(os.environ[CONCURRENCY]),
        poll=timedelta(seconds=0.2),
        grace=timedelta(seconds=5),
    )
    return run_service(
        app.connect, app.schema, app.handlers, settings, app.environment, engine=lambda: app.engine
    )  # fmt: skip


def _end_with_the_demo() -> None:
    while os.read(0, 512):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
