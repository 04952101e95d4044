"""python -m bench.pinned: does a claim stay as fast while an old snapshot keeps every dead row?

A closed loop of enqueue, claim and complete runs under an idle REPEATABLE READ transaction, with
maintain each half second and VACUUM ANALYZE of the hot tables each three. Level means: the last
third of the run costs as much for each job as the first.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import psycopg

from bench import load, place
from bench.upkeep import idle_snapshot, upkeep
from emq_sql.embedded import start
from emq_sql.embedded.server import Server
from emq_sql.protocol import steps
from tests.mutants.rendering import Change, install

# Each claim then begins at the head of its index and walks what the snapshot keeps.
WITHOUT_FLOOR = Change(
    "claim",
    "r.rank = (p.i - 1)::smallint and r.ord >= p.f\n         order by r.ord limit v_n",
    "r.rank = (p.i - 1)::smallint\n         order by r.ord limit v_n",
)


def main() -> None:
    """Measure, print, and write bench/results/*.json."""
    given = _arguments()
    with start(prefer=given.server, options=place.OPTIONS) as server:
        with psycopg.connect(server.dsn, autocommit=True) as conn:
            if given.without_floor:
                install(conn, WITHOUT_FLOOR)
            else:
                steps.upgrade(conn)
        result = measure(server, given)
    _print(result)
    variant = ("" if given.pinned else "-not-pinned") + ("-no-floor" if given.without_floor else "")
    place.write(result, place.RESULTS / f"pinned-pg{server.major}{variant}.json")


def measure(server: Server, given: argparse.Namespace) -> dict[str, Any]:
    """One run."""
    settings: dict[str, Any] = {"sessions": given.sessions, "batch": given.batch}
    load.run(server.dsn, server.bindir, seconds=1, **settings)  # warm
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        conn.execute("checkpoint")
        with idle_snapshot(server.dsn, given.pinned):
            wal = place.wal_position(conn)
            with upkeep(server.dsn) as beside, sampled_cpu(server) as cpu:
                done = load.run(server.dsn, server.bindir, seconds=given.seconds, **settings)
            wal = place.wal_position(conn) - wal
            fresh = first_claim_ms(server)
    if beside.errors:
        raise beside.errors[0]
    rates = done.jobs_per_second
    third = max(1, len(rates) // 3)
    load_us, server_us = (
        [
            round((after[k] - before[k]) / (rate * load.EVERY) * 1e6)
            for (before, after), rate in zip(pairwise(cpu), rates[1:], strict=False)
        ]
        for k in (0, 1)
    )
    ticks = beside.maintain_ms
    return {
        "workload": "pinned",
        "pinned": given.pinned,
        "floor": not given.without_floor,
        "seconds": given.seconds,
        **settings,
        **place.describe(server),
        "by": done.by,
        "jobs": done.jobs,
        "jobs_per_second": rates,
        "last_third_over_first": _ratio(rates, third),
        "load_cpu_us_per_job": load_us,
        "server_cpu_us_per_job": server_us,
        "load_cpu_last_third_over_first": _ratio(load_us, third),
        "wal_bytes_per_job": round(wal / done.jobs),
        "vacuums": beside.vacuums,
        "maintain_ms": [round(ms, 1) for ms in ticks[:: max(1, len(ticks) // 10)]],
        "first_claim_of_a_fresh_session_ms": fresh,
    }


@contextmanager
def sampled_cpu(server: Server) -> Iterator[list[tuple[float, float]]]:
    """CPU seconds of the load's sessions and of the whole server, each EVERY seconds.

    On a machine that others use too, CPU for each job says more than jobs in a second. The server's
    holds the vacuums, which read all that the snapshot keeps, and maintain.
    """
    read: list[tuple[float, float]] = []
    stop = threading.Event()

    def sample() -> None:
        with psycopg.connect(server.dsn, autocommit=True) as conn:
            while not stop.wait(load.EVERY):
                found = conn.execute(
                    "select pid from pg_stat_activity where application_name = %s", [load.NAME]
                )
                sessions = [pid for (pid,) in found.fetchall()]
                read.append((place.cpu_of(sessions), place.server_cpu(server)))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield read
    finally:
        stop.set()
        thread.join()


def _ratio(values: list[int], third: int) -> float:
    if len(values) < 2 * third:
        return float("nan")
    return round(sum(values[-third:]) / sum(values[:third]), 3)


def first_claim_ms(server: Server) -> float:
    """A new session has no floors yet, and walks the dead rows once."""
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        began = time.perf_counter()
        conn.execute("select id from emq.claim('default', 1, 'w', 1)")
        return round((time.perf_counter() - began) * 1000, 1)


def _print(result: dict[str, Any]) -> None:
    for name in (
        "postgresql",
        "kind",
        "machine",
        "cores",
        "system",
        "date",
        "by",
        "pinned",
        "floor",
    ):
        print(f"{name:12s} {result[name]}")
    print(f"jobs         {result['jobs']} in {result['seconds']} s,"
          f" {result['sessions']} sessions, batches of {result['batch']}")  # fmt: skip
    print(
        f"jobs/s       {' '.join(map(str, result['jobs_per_second']))}  (for each {load.EVERY} s)"
    )
    print(
        f"CPU us/job   {' '.join(map(str, result['load_cpu_us_per_job']))}  (sessions of the load)"
    )
    print(
        f"             {' '.join(map(str, result['server_cpu_us_per_job']))}  (server, vacuums too)"
    )
    print(f"last third over first: jobs/s {result['last_third_over_first']},"
          f" CPU a job {result['load_cpu_last_third_over_first']}")  # fmt: skip
    print(f"WAL          {result['wal_bytes_per_job']} B a job")
    print(f"maintain ms  {' '.join(map(str, result['maintain_ms']))}")
    print(f"first claim  {result['first_claim_of_a_fresh_session_ms']} ms in a fresh session")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.pinned", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--server", choices=("embedded", "system"), default="embedded")
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--not-pinned", dest="pinned", action="store_false")
    parser.add_argument("--without-floor", action="store_true", help="to see the collapse")
    return parser.parse_args()


if __name__ == "__main__":
    main()
