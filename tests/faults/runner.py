"""One worker process: `python -m tests.faults.runner '{"queues": ["default"], ...}'`."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from datetime import timedelta
from functools import partial
from typing import Any

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
    bell = given.pop("bell", True)
    given["queues"] = tuple(given.get("queues", ["default"]))
    for name in SECONDS:
        if given.get(name) is not None:
            given[name] = timedelta(seconds=given[name])
    logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
    # What this process thinks is the time, for tests that bend it.
    logging.info("clock %.3f", time.time())
    threading.Thread(target=end_with_parent, args=(os.getppid(),), daemon=True).start()
    listen = os.environ.get("EMQ_LISTEN_DSN")
    return run_service(
        partial(connect, os.environ["EMQ_DSN"]),
        "emq",
        HANDLERS,
        WorkerSettings(**given),
        environment,
        listen=partial(connect, listen) if listen else bell,
    )


def connect(dsn: str) -> psycopg.Connection[Any]:
    return psycopg.connect(dsn, autocommit=True, connect_timeout=5)


if __name__ == "__main__":
    sys.exit(main())
