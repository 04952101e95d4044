"""One worker process: `python -m tests.faults.runner '{"queues": ["default"], ...}'`."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from datetime import timedelta

import psycopg

from emq_sql.service import run_service
from emq_sql.worker.settings import WorkerSettings
from tests.faults.jobs import HANDLERS

SECONDS = ("poll", "grace", "lease")


def end_with_parent(parent: int) -> None:
    """No worker outlives a test run that was killed."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(9)


def main() -> int:
    given = json.loads(sys.argv[1])
    environment = given.pop("environment", None)
    given["queues"] = tuple(given.get("queues", ["default"]))
    for name in SECONDS:
        if given.get(name) is not None:
            given[name] = timedelta(seconds=given[name])
    logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
    # What this process thinks is the time, for tests that bend it.
    logging.info("clock %.3f", time.time())
    threading.Thread(target=end_with_parent, args=(os.getppid(),), daemon=True).start()
    return run_service(
        lambda: psycopg.connect(os.environ["EMQ_DSN"], autocommit=True, connect_timeout=5),
        "emq",
        HANDLERS,
        WorkerSettings(**given),
        environment,
    )


if __name__ == "__main__":
    sys.exit(main())
