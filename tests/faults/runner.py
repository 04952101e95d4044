"""One worker process: `python -m tests.faults.runner '{"queues": ["default"], ...}'`."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import psycopg

from emq_sql.service import run_service
from emq_sql.worker.settings import WorkerSettings
from tests.faults.jobs import HANDLERS

SECONDS = ("poll", "grace", "lease")


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
    if beacon := os.environ.get("EMQ_TEST_BEACON"):
        Path(beacon).write_text(str(os.getpid()))
    return run_service(
        lambda: psycopg.connect(os.environ["EMQ_DSN"], autocommit=True, connect_timeout=5),
        "emq",
        HANDLERS,
        WorkerSettings(**given),
        environment,
    )


if __name__ == "__main__":
    sys.exit(main())
