"""python -m bench.history: do claims stay level while a day of the archive goes, or is read whole?

A closed loop of enqueue, claim and complete runs all the time, with maintain each half second. In
the middle of it, one after the other, a day of finished jobs is exported, vacuumed, and retired
until its partition is dropped. Level means: as many jobs go round meanwhile as in the quiet moments
before and after. The exporter and the vacuum use the same cores, and take their share.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from bench import load, place
from emq_sql.embedded import start
from emq_sql.embedded.server import Server
from emq_sql.protocol import steps, upkeep

ROOT = Path(__file__).resolve().parents[1]
TICK = 0.02  # seconds between two looks at the counter
DAYS_AGO = 40

_FILL = """
with j as (
  insert into emq.job (id, enqueued_at, priority, queue, task, payload)
  select emq.job_id('k' || g, %(day)s::date + g * %(step)s), %(day)s::date + g * %(step)s, 2,
         'default', 'app.mail.send',
         '{"to": "user@example.com", "template": "welcome", "n": 123456789, "tags": ["a", "b"]}'
    from generate_series(1, %(n)s) g
  returning id, enqueued_at
)
insert into emq.archive
  (id, fence, finished_at, claimed_at, attempts, stalled, failures, status, queue, worker)
select id, 1::bigint << 40, enqueued_at + interval '1 s', enqueued_at + interval '0.9 s', 1, 0, 0,
       'completed', 'default', 'web-7:12345:1'
  from j
"""


_SESSIONS = "select pid from pg_stat_activity where application_name = %s"


@dataclass(frozen=True, slots=True)
class Phase:
    """What went on, for how long; jobs a second, CPU of the load's sessions for each, the ratios of
    both to the quiet moments on both sides, and the longest standstill.
    """

    what: str
    seconds: float
    jobs_per_second: int
    ratio: float
    cpu_us_per_job: int
    cpu_ratio: float
    longest_pause_ms: int


@dataclass(frozen=True, slots=True)
class Look:
    """Jobs enqueued, and CPU seconds used, at a moment."""

    at: float
    jobs: int
    cpu: float


@dataclass(slots=True)
class Counter:
    """Looks at the load from outside, each TICK: the loop claims what it enqueues."""

    seen: list[Look] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def between(self, first: float, last: float) -> tuple[int, int, int]:
        """Jobs a second, microseconds of CPU a job, milliseconds of the longest standstill."""
        part = [look for look in self.seen if first <= look.at <= last]
        longest, since = 0.0, part[0]
        for look in part:
            if look.jobs == since.jobs:
                longest = max(longest, look.at - since.at)
            else:
                since = look
        jobs = part[-1].jobs - part[0].jobs
        seconds, cpu = part[-1].at - part[0].at, part[-1].cpu - part[0].cpu
        return round(jobs / seconds), round(cpu / jobs * 1e6), round(longest * 1000)


@contextmanager
def counted(dsn: str) -> Iterator[Counter]:
    """Counts from the outside, and keeps maintain going."""
    told, stop = Counter(), threading.Event()

    def look() -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            sessions: list[int] = []
            while not stop.wait(TICK):
                if not sessions:
                    found = conn.execute(_SESSIONS, [load.NAME]).fetchall()
                    sessions = [pid for (pid,) in found]
                row = conn.execute("select last_value from emq.ord_seq").fetchone()
                assert row is not None
                told.seen.append(Look(time.monotonic(), int(row[0]), place.cpu_of(sessions)))

    def maintain() -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            while not stop.wait(0.5):
                conn.execute("select emq.maintain()")

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            told.errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in (look, maintain)]
    for thread in threads:
        thread.start()
    try:
        yield told
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def measure(server: Server, given: argparse.Namespace) -> list[Phase]:
    """One run: quiet, export, quiet, vacuum, quiet, drop, quiet."""
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        day = fill(conn, given.rows)
        conn.execute("checkpoint")
        name = f"archive_{day.replace('-', '')}"
        with tempfile.TemporaryDirectory() as folder:
            deeds: list[tuple[str, Callable[[], None]]] = [
                ("exported", lambda: exported(server.dsn, day, folder)),
                ("vacuumed", lambda: vacuumed(conn, name)),
                ("dropped", lambda: dropped(conn)),
            ]
            return phases(server, given, deeds)


def phases(
    server: Server, given: argparse.Namespace, deeds: list[tuple[str, Callable[[], None]]]
) -> list[Phase]:
    settings: dict[str, int] = {"sessions": given.sessions, "batch": given.batch}
    over = threading.Event()

    def work() -> None:
        try:
            load.run(server.dsn, server.bindir, seconds=given.most_seconds, **settings)
        except Exception:
            if not over.is_set():  # else its sessions were ended because it was over
                raise

    busy = threading.Thread(target=work, daemon=True)
    marks: list[tuple[str, float, float]] = []
    with counted(server.dsn) as told:
        busy.start()
        time.sleep(3)  # warm
        for what, deed in [("quiet", None), *((what, deed) for what, deed in deeds)]:
            if deed is not None:
                began = time.monotonic()
                deed()
                marks.append((what, began, time.monotonic()))
            quiet = time.monotonic()
            time.sleep(given.seconds)
            marks.append(("quiet", quiet, time.monotonic()))
        ended = not busy.is_alive()
        over.set()
        stop_load(server)
        busy.join(60)
    if told.errors:
        raise told.errors[0]
    if ended:
        raise RuntimeError("the load ended before the phases: give --most-seconds")
    return [phase(told, marks, k) for k in range(len(marks))]


def phase(told: Counter, marks: list[tuple[str, float, float]], k: int) -> Phase:
    """Compared with the quiet moments on both sides."""
    what, began, ended = marks[k]
    rate, cpu, longest = told.between(began, ended)
    sides = [k] if what == "quiet" else [k - 1, k + 1]
    beside = [told.between(*marks[n][1:]) for n in sides]
    level, cpu_level = (sum(side[m] for side in beside) / len(beside) for m in (0, 1))
    return Phase(
        what, round(ended - began, 1), rate, round(rate / level, 2), cpu, round(cpu / cpu_level, 2),
        longest,
    )  # fmt: skip


def pause(phase: Phase) -> str:
    """The longest standstill, as far as it was seen."""
    seen = phase.longest_pause_ms
    return f"{seen} ms" if seen else f"below {round(TICK * 1000)} ms"


def fill(conn: psycopg.Connection[Any], rows: int) -> str:
    """A day long past with so many finished jobs; history cannot be waited for."""
    row = conn.execute(
        "select ((now() at time zone 'utc')::date - %s::int)::text", [DAYS_AGO]
    ).fetchone()
    assert row is not None
    day = str(row[0])
    conn.execute("select emq.archive_days(-1, %s::date + 1)", [day])
    step = f"{80_000 / rows} s"
    conn.execute(_FILL.replace("%(step)s", f"interval '{step}'").encode(), {"day": day, "n": rows})
    conn.execute("vacuum (analyze) emq.job")
    return day


def exported(dsn: str, day: str, folder: str) -> None:
    """The day's rows are written as Parquet files, and read back, by a process of its own."""
    subprocess.run(
        [sys.executable, "-m", "emq_sql", "archive", "export", "--to", folder, "--day", day],
        cwd=ROOT, env=os.environ | {"EMQ_DSN": dsn}, check=True, timeout=600,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


def vacuumed(conn: psycopg.Connection[Any], name: str) -> None:
    """Every page of the day and of the envelopes is read and frozen."""
    for table in (name, "job"):
        conn.execute(f"vacuum (freeze, analyze, disable_page_skipping) emq.{table}".encode())


def dropped(conn: psycopg.Connection[Any]) -> None:
    """The day's envelopes are deleted step by step, then its partition is dropped."""
    while (step := upkeep.tidy(conn, "emq")).did != "nothing":
        if step.idle:
            time.sleep(0.1)


def stop_load(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        conn.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = %s",
            [load.NAME],
        )


def main() -> None:
    """Measure, print, and write bench/results/*.json."""
    given = _arguments()
    with start(prefer=given.server, options=place.OPTIONS) as server:
        with psycopg.connect(server.dsn, autocommit=True) as conn:
            steps.upgrade(conn)
        told = measure(server, given)
        result = {
            "workload": "history", "rows": given.rows, "sessions": given.sessions,
            "batch": given.batch, **place.describe(server),
            "phases": [asdict(each) for each in told],
        }  # fmt: skip
        major = server.major
    for name in ("postgresql", "kind", "machine", "cores", "system", "date"):
        print(f"{name:12s} {result[name]}")
    print(f"\n| while a day of {given.rows:,} jobs is | s | jobs/s | ratio | CPU us/job | ratio"
          " | longest pause |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for each in told:
        print(f"| {each.what} | {each.seconds} | {each.jobs_per_second:,} | {each.ratio:.2f}"
              f" | {each.cpu_us_per_job} | {each.cpu_ratio:.2f} | {pause(each)} |")  # fmt: skip
    place.write(result, place.RESULTS / f"history-pg{major}.json")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.history", description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000, help="finished jobs of the day")
    parser.add_argument("--seconds", type=float, default=10, help="of each quiet moment")
    parser.add_argument("--most-seconds", type=float, default=600, help="the load runs at most")
    parser.add_argument("--server", choices=("embedded", "system"), default="embedded")
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--batch", type=int, default=20)
    return parser.parse_args()


if __name__ == "__main__":
    main()
