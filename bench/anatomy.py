"""python -m bench.anatomy: where the time of a job goes that does nothing.

One worker in this process drains a backlog, as `drain:noop-1` of make bench does, in two ways in
turn. With nothing else: CPU of each of its threads, by their own clocks, and of the server. With
`track_functions = all`: which of the server's functions it was, each without those that it calls;
that adds to what it measures, so its sum is more than the server's CPU of the other way.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from typing import Any

import psycopg

from bench import place
from bench.compare.servers import DURABLE
from bench.suite import jobs
from emq_sql import EMQ
from emq_sql.effects.effects import DatabaseEffects
from emq_sql.embedded import start
from emq_sql.embedded.server import Server
from emq_sql.protocol import steps
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.worker import Worker

_LEAST_US = 0.05  # of a job; functions below that are left out
_FUNCTIONS = """
select funcname, self_time from pg_stat_user_functions where schemaname = 'emq'
"""


def ran(n: int, pad: str) -> None:
    """The handler: what it takes is not looked at."""


def drained(server: Server, emq: EMQ, given: argparse.Namespace) -> dict[str, float]:
    """Microseconds of CPU for each job, by thread; and how many jobs a second."""
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        jobs.fill(conn, given.jobs)
    settings = WorkerSettings(
        queues=("default",), concurrency=1, prefetch=given.prefetch, burst=True
    )
    worker = Worker(emq.connect, "emq", emq.handlers, settings, DatabaseEffects("emq", emq.engine))
    spent: dict[str, float] = {}

    def run() -> None:
        own = time.thread_time()
        worker.run()
        spent["main loop"] = time.thread_time() - own

    cpu, whole, at = place.server_cpu(server), time.process_time(), time.monotonic()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    seconds = time.monotonic() - at
    spent["slot and others"] = time.process_time() - whole - spent["main loop"]
    spent["server"] = place.server_cpu(server) - cpu
    told = {name: value / given.jobs * 1e6 for name, value in spent.items()}
    return told | {"wall": seconds / given.jobs * 1e6}


def functions(server: Server, emq: EMQ, given: argparse.Namespace) -> dict[str, float]:
    """Microseconds that each function of the server's took for a job, without those it called."""
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        conn.execute("alter system set track_functions = 'all'")
        conn.execute("select pg_reload_conf(), pg_stat_reset()")
    emq.engine.dispose()
    drained(server, emq, given)
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        rows = conn.execute(_FUNCTIONS).fetchall()
        conn.execute("alter system reset track_functions")
        conn.execute("select pg_reload_conf()")
    found = {name: own * 1000 / given.jobs for name, own in rows}
    return {name: us for name, us in found.items() if us >= _LEAST_US and "enqueue" not in name}


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and keep the figures with --save."""
    parser = argparse.ArgumentParser(prog="python -m bench.anatomy", description=__doc__)
    parser.add_argument("--jobs", type=int, default=60_000)
    parser.add_argument("--prefetch", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--save", action="store_true", help="keep them in bench/results")
    given = parser.parse_args(arguments)
    with start(durable=True, options=DURABLE) as server:
        with psycopg.connect(server.dsn, autocommit=True) as conn:
            steps.upgrade(conn)
        emq = EMQ(server.dsn)
        emq.task(name="noop")(ran)
        drained(server, emq, given)  # warm
        rounds = [(drained(server, emq, given), functions(server, emq, given))
                  for _ in range(given.rounds)]  # fmt: skip
        told: dict[str, Any] = {"what": "anatomy", **place.describe(server), "options": DURABLE}
    told |= {"jobs": given.jobs, "prefetch": given.prefetch, "rounds": given.rounds}
    told["cpu_us"] = _medians([cpu for cpu, _ in rounds])
    told["function_us"] = _medians([by for _, by in rounds])
    for part in ("cpu_us", "function_us"):
        print(part)
        for name, us in sorted(told[part].items(), key=lambda one: -one[1]):
            print(f"  {name:24s} {us:7.2f}")
    if given.save:
        place.write(told, place.RESULTS / f"anatomy-pg{server.major}.json")
    return 0


def _medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for one in rounds for name in one)
    return {
        name: round(statistics.median(one.get(name, 0.0) for one in rounds), 2) for name in names
    }


if __name__ == "__main__":
    sys.exit(main())
