"""python -m bench.idle: how many statements does a worker send in a minute when it has no job?

A real `emq worker` on a server of its own that logs each statement, with 1 and with 10 queues, with
the bell and without, after it has settled down. BEGIN and COMMIT would count, if there were any.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import psycopg

from bench import place
from emq_sql import EMQ
from emq_sql.embedded import start
from emq_sql.embedded.server import Server
from emq_sql.protocol import steps

QUEUES = (1, 10)
SETTLED = 3.0  # seconds
CONNECTIONS = ("claim", "keep", "upkeep", "bell")

_LINE = re.compile(r"emq (\w+) [^|]*\|LOG:  (?:statement|execute [^:]+): ")
_LOGGED = {"log_statement": "all", "log_line_prefix": "%a|", "log_error_verbosity": "terse"}

emq = EMQ()  # of the worker: EMQ_DSN
silent = EMQ(bell=False)


def main() -> None:
    """Measure, print, and write bench/results/idle-*.json."""
    given = _arguments()
    with start(prefer=given.server, options=place.OPTIONS | _LOGGED) as server:
        with psycopg.connect(server.dsn, autocommit=True) as conn:
            steps.upgrade(conn)
        result = {
            "workload": "idle", "seconds": given.seconds, "poll": given.poll,
            "workers": given.workers, **place.describe(server),
            "runs": [
                measure(server, given, queues, bell=bell)
                for bell in (True, False) for queues in QUEUES
            ],
        }  # fmt: skip
    _print(result)
    place.write(result, place.RESULTS / f"idle-pg{server.major}.json")


def measure(
    server: Server, given: argparse.Namespace, queues: int, *, bell: bool
) -> dict[str, Any]:
    """What one worker of `given.workers` sends in a minute, on the average."""
    app = "bench.idle:emq" if bell else "bench.idle:silent"
    command = [
        sys.executable, "-m", "emq_sql", "worker", "--app", app, "--poll", str(given.poll),
        "--queues", ",".join(f"q{n}" for n in range(queues)),
    ]  # fmt: skip
    workers = [
        subprocess.Popen(command, env={**os.environ, "EMQ_DSN": server.dsn}, stderr=subprocess.PIPE)
        for _ in range(given.workers)
    ]
    try:
        _until_started(server, given.workers)
        time.sleep(SETTLED)
        before, passes = server.log.stat().st_size, _passes(server)
        time.sleep(given.seconds)
        with server.log.open(errors="replace") as log:
            log.seek(before)
            sent = Counter(found[1] for line in log if (found := _LINE.match(line)))
        passes = _passes(server) - passes
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.communicate(timeout=60)
    share = 60 / given.seconds / given.workers
    by = {name: round(sent[name] * share, 1) for name in CONNECTIONS}
    total = round(sum(sent.values()) * share, 1)
    return {
        "queues": queues, "bell": bell, "statements_a_minute": total, "by": by,
        "passes_a_minute": round(passes * 60 / given.seconds, 1),  # of all workers together
    }  # fmt: skip


def _until_started(server: Server, workers: int) -> None:
    until = time.monotonic() + 60
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        while conn.execute("select count(*) from emq.worker").fetchone() != (workers,):
            if time.monotonic() > until:
                raise SystemExit("the workers did not start")
            time.sleep(0.1)


def _passes(server: Server) -> int:
    """How many passes of upkeep this ledger has seen: each writes one row of its register."""
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        row = conn.execute("select coalesce(max(n), 0) from emq.settled").fetchone()
    assert row is not None
    return int(row[0])


def _print(result: dict[str, Any]) -> None:
    print(f"PostgreSQL {result['postgresql']}, {result['machine']}, {result['date']}")
    print(f"{result['workers']} idle workers, poll {result['poll']:g} s, each for"
          f" {result['seconds']:g} s: statements of one worker in a minute")  # fmt: skip
    print(
        "queues  bell     "
        + "".join(f"{name:>8s}" for name in (*CONNECTIONS, "all"))
        + "   passes of upkeep, all workers"
    )
    for run in result["runs"]:
        told = "heard" if run["bell"] else "off"
        columns = [*run["by"].values(), run["statements_a_minute"]]
        print(f"{run['queues']:6d}  {told:8s} " + "".join(f"{n:8.0f}" for n in columns)
              + f"{run['passes_a_minute']:11.0f}")  # fmt: skip


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.idle", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each of the four runs")
    parser.add_argument("--workers", type=int, default=1, help="at the same time")
    parser.add_argument("--poll", type=float, default=1.0)
    parser.add_argument("--server", choices=("embedded", "system"), default="embedded")
    return parser.parse_args()


if __name__ == "__main__":
    main()
