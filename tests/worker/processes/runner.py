"""One worker with child processes: `python -m tests.worker.processes.runner '{"processes": 2}'`."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from datetime import timedelta

import psycopg

from emq_sql.service import run_service
from emq_sql.worker.settings import WorkerSettings
from tests.faults.runner import SECONDS, end_with_parent
from tests.worker.processes.jobs import HANDLERS

CHILD = [sys.executable, "-m", "tests.worker.processes.child"]


def main() -> int:
    given = json.loads(sys.argv[1])
    child = given.pop("child", CHILD)
    given["queues"] = tuple(given.get("queues", ["default"]))
    for name in SECONDS:
        if given.get(name) is not None:
            given[name] = timedelta(seconds=given[name])
    logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
    threading.Thread(target=end_with_parent, args=(os.getppid(),), daemon=True).start()
    return run_service(
        lambda: psycopg.connect(os.environ["EMQ_DSN"], autocommit=True, connect_timeout=5),
        "emq", HANDLERS, WorkerSettings(**given), None, child=child,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
