"""python -m bench.limits: what this machine and this server allow at most, without any queue.

Raw round trips, durable commits and syncs of the disk, a bare batch loop of delete ... returning
with skip locked, and inserts by arrays and by COPY, each by one connection in one Python process.
And the server's own share of an enqueue: its functions called with arguments that are ready.
Figures of emq_sql are shown beside these: what is close to its limit needs no more work.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from bench import place
from bench.compare.servers import DURABLE
from emq_sql.embedded import start
from emq_sql.embedded.server import Server
from emq_sql.minting import new_id, new_ids
from emq_sql.protocol import steps

PAYLOAD = {"n": 123456, "pad": "x" * 78}  # about 100 bytes
BATCHES = (100, 500, 1000)

Conn = psycopg.Connection[Any]

_TABLES = """
create table single (id bigint generated always as identity primary key, payload jsonb not null);
create table waiting (id bigint generated always as identity primary key, payload jsonb not null);
create table finished (id bigint not null, finished_at timestamptz not null default now())
"""
_FILL = "insert into waiting (payload) select unnest(%s::jsonb[])"
_TAKE = """
delete from waiting where id in (
  select id from waiting order by id limit %s for update skip locked) returning id, payload
"""
_TAKE_AND_KEEP = f"""
with taken as ({_TAKE}), kept as (insert into finished (id) select id from taken)
select id, payload from taken
"""


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write bench/results/limits-*.json."""
    given = _arguments(arguments)
    with start(prefer=given.server, durable=True, options=DURABLE) as server:
        with psycopg.connect(server.dsn, autocommit=True) as conn:
            conn.execute(_TABLES.encode())
            steps.upgrade(conn)
            rows = measure(conn, given.seconds, given.jobs, given.rounds)
        rows |= syncs(server, given.seconds)
        told = {"what": "limits", **place.describe(server), "options": DURABLE}
    told |= {"jobs": given.jobs, "seconds": given.seconds, "rounds": given.rounds, "rates": rows}
    print(f"PostgreSQL {told['postgresql']}, {told['machine']}, {told['date']}; a second:")
    for name, found in rows.items():
        print(
            f"{name:28} {found['median']:10.0f}   ({found['lowest']:.0f} .. {found['highest']:.0f})"
        )
    place.write(told, given.out or place.RESULTS / f"limits-pg{server.major}.json")
    return 0


def measure(conn: Conn, seconds: float, jobs: int, rounds: int) -> dict[str, dict[str, float]]:
    """Each limit so many times, in turns; the median and the spread."""
    limits: dict[str, Callable[[], float]] = {
        "round trips": lambda: round_trips(conn, seconds),
        "durable single commits": lambda: single_commits(conn, seconds),
        "array insert, 1000 a commit": lambda: array_insert(conn, jobs, 1000),
        "copy, 1000 a commit": lambda: copy(conn, jobs, 1000),
        "emq.enqueue": lambda: enqueues(conn, seconds, prepare=False),
        "emq.enqueue, prepared": lambda: enqueues(conn, seconds, prepare=True),
        "emq.enqueue_many of 1000": lambda: enqueue_many(conn, jobs, 1000),
        "emq.enqueue_batch of 1000": lambda: enqueue_batch(conn, jobs, 1000),
    }
    for batch in BATCHES:
        limits[f"batch loop {batch}"] = lambda b=batch: loop(conn, _TAKE, jobs, b)  # type: ignore[misc]
        limits[f"batch loop {batch}, a record"] = lambda b=batch: loop(  # type: ignore[misc]
            conn, _TAKE_AND_KEEP, jobs, b
        )
    found: dict[str, list[float]] = {name: [] for name in limits}
    for _ in range(rounds):
        for name, limit in limits.items():
            conn.execute("truncate single, waiting, finished, emq.job, emq.pending")
            conn.execute("checkpoint")
            found[name].append(limit())
    return {name: _spread(rates) for name, rates in found.items()}


def round_trips(conn: Conn, seconds: float) -> float:
    """select 1, one after the other."""
    return _rate(lambda: conn.execute("select 1").fetchone(), seconds)


def single_commits(conn: Conn, seconds: float) -> float:
    """A row and a commit, one after the other: what a queue's single enqueue cannot beat."""
    payload = Jsonb(PAYLOAD)
    return _rate(
        lambda: conn.execute("insert into single (payload) values (%s)", [payload]), seconds
    )


def array_insert(conn: Conn, jobs: int, batch: int) -> float:
    """So many rows by arrays of `batch`."""
    began = time.monotonic()
    for _ in range(0, jobs, batch):
        conn.execute(_FILL, [[json.dumps(PAYLOAD)] * batch])
    return jobs / (time.monotonic() - began)


def copy(conn: Conn, jobs: int, batch: int) -> float:
    """The same by COPY."""
    began = time.monotonic()
    for _ in range(0, jobs, batch):
        with conn.cursor().copy("copy waiting (payload) from stdin") as out:
            for _ in range(batch):
                out.write_row([json.dumps(PAYLOAD)])
    return jobs / (time.monotonic() - began)


def enqueues(conn: Conn, seconds: float, *, prepare: bool) -> float:
    """emq.enqueue, a commit each."""
    payload = json.dumps(PAYLOAD)
    return _rate(
        lambda: conn.execute(
            "select id, status from emq.enqueue('default', 'noop', %s::jsonb, %s::uuid, 2)",
            [payload, new_id().hex], prepare=prepare,
        ).fetchone(),
        seconds,
    )  # fmt: skip


def enqueue_many(conn: Conn, jobs: int, batch: int) -> float:
    """emq.enqueue_many in a loop, without the time that making its arguments takes."""
    call = "select emq.enqueue_many('default', %s::uuid[], %s::text[], %s::text[]::jsonb[])"
    tasks, payloads = ["noop"] * batch, [json.dumps(PAYLOAD)] * batch
    ids = [new_ids(batch) for _ in range(0, jobs, batch)]
    began = time.monotonic()
    for some in ids:
        conn.execute(call, [some, tasks, payloads])
    return jobs / (time.monotonic() - began)


def enqueue_batch(conn: Conn, jobs: int, batch: int) -> float:
    """The same with emq.enqueue_batch."""
    call = "select emq.enqueue_batch('default', 'noop', %s::uuid[], %s::jsonb)"
    payloads = json.dumps([PAYLOAD] * batch)
    ids = [new_ids(batch) for _ in range(0, jobs, batch)]
    began = time.monotonic()
    for some in ids:
        conn.execute(call, [some, payloads])
    return jobs / (time.monotonic() - began)


def loop(conn: Conn, take: str, jobs: int, batch: int) -> float:
    """A backlog taken in batches, each row read in Python: a queue without anything around it."""
    array_insert(conn, jobs, 1000)
    conn.execute("vacuum analyze waiting")
    row = conn.execute("select count(*) from waiting").fetchone()
    assert row is not None
    done, began = 0, time.monotonic()
    while rows := conn.execute(take.encode(), [batch]).fetchall():
        done += sum(payload["n"] == PAYLOAD["n"] for _, payload in rows)
    took = time.monotonic() - began
    if done != row[0]:
        raise SystemExit(f"the loop ran {done} of {row[0]} jobs")
    return done / took


def syncs(server: Server, seconds: float) -> dict[str, dict[str, float]]:
    """fdatasync of 8 kB where the server has its data; by pg_test_fsync too, if it is there."""
    found = {"fdatasync of 8 kB": _spread([_disk(server.data.parent, seconds) for _ in range(3)])}
    program = server.bindir / "pg_test_fsync"
    if program.is_file():
        with tempfile.TemporaryDirectory(dir=server.data.parent) as folder:
            said = subprocess.run(
                [program, "-s", "1", "-f", f"{folder}/written"],
                capture_output=True, text=True, check=False, timeout=120,
            ).stdout  # fmt: skip
        if rate := re.search(r"fdatasync\s+([\d.]+) ops/sec", said):
            found["pg_test_fsync, fdatasync"] = _spread([float(rate[1])])
    return found


def _disk(folder: Path, seconds: float) -> float:
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        number = file.fileno()
        os.write(number, bytes(8192))
        os.fsync(number)

        def write() -> None:
            os.pwrite(number, os.urandom(8192), 0)
            os.fdatasync(number)

        return _rate(write, seconds)


def _rate(do: Callable[[], object], seconds: float) -> float:
    count, began = 0, time.monotonic()
    while (now := time.monotonic()) < began + seconds:
        do()
        count += 1
    return count / (now - began)


def _spread(rates: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(rates), 1),
        "lowest": round(min(rates), 1),
        "highest": round(max(rates), 1),
    }


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.limits", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="of each that is timed")
    parser.add_argument("--jobs", type=int, default=50_000, help="of each that is counted")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--server", choices=("embedded", "system"), default="embedded")
    parser.add_argument("--out", type=Path, help="instead of bench/results/limits-pg*.json")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
