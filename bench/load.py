"""The closed loop: enqueue a batch, claim it, complete it; by pgbench, or else by psycopg."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg

from emq_sql.minting import new_id

EVERY = 5  # seconds for one figure
NAME = "emq load"  # application_name of the sessions that do the work

_PAYLOAD = (
    """'{"to": "user@example.com", "template": "welcome", "n": 123456789, "tags": ["a", "b"]}'"""
)
_SCRIPT = """
select emq.enqueue_many('default', array(select emq.uuid7() from generate_series(1, {b})),
  array_fill('app.mail.send'::text, array[{b}]), array_fill({payload}::jsonb, array[{b}]));
select coalesce(array_agg(id), '{{}}') as ids, coalesce(array_agg(fence), '{{}}') as fences,
       coalesce(sum(length(payload::text)), 0) as size
  from emq.claim('default', {b}, 'web-7:12345:1', (random() * 1e12)::bigint) \\gset
select emq.complete(:ids::uuid[], :fences::bigint[]);
"""


@dataclass(frozen=True, slots=True)
class Load:
    """How many jobs went round, and jobs a second for each EVERY seconds."""

    by: str
    jobs: int
    jobs_per_second: list[int]


def run(dsn: str, bindir: Path, *, sessions: int, batch: int, seconds: float) -> Load:
    """Keep the queue busy for so long."""
    pgbench = bindir / "pgbench"
    if pgbench.is_file():
        return _pgbench(pgbench, dsn, sessions, batch, seconds)
    return _psycopg(dsn, sessions, batch, seconds)


def _pgbench(program: Path, dsn: str, sessions: int, batch: int, seconds: float) -> Load:
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(_SCRIPT.format(b=batch, payload=_PAYLOAD))
        script.flush()
        done = subprocess.run(
            [program, "-n", "-M", "prepared", "-c", str(sessions), "-j", "2", "-T",
             str(max(1, round(seconds))), "-P", str(EVERY), "-f", script.name, dsn],
            capture_output=True, text=True, check=False, timeout=seconds + 120,
            env=os.environ | {"PGAPPNAME": NAME},
        )  # fmt: skip
    ran = re.search(r"actually processed: (\d+)", done.stdout)
    if done.returncode != 0 or ran is None:
        raise RuntimeError(f"pgbench failed: {done.stderr[-2000:]}")
    rates = re.findall(r"progress: [\d.]+ s, ([\d.]+) tps", done.stderr)
    return Load("pgbench", int(ran[1]) * batch, [round(float(rate) * batch) for rate in rates])


def _psycopg(dsn: str, sessions: int, batch: int, seconds: float) -> Load:
    end = time.monotonic() + seconds
    done = [0] * sessions

    def loop(number: int) -> None:
        with psycopg.connect(dsn, autocommit=True, application_name=NAME) as conn:
            while time.monotonic() < end:
                conn.execute(
                    "select emq.enqueue_many('default', %s, array_fill('app.mail.send'::text,"
                    f" array[%s]), array_fill({_PAYLOAD}::jsonb, array[%s]))".encode(),
                    [[new_id() for _ in range(batch)], batch, batch],
                )
                rows = conn.execute(
                    "select id, fence, payload from emq.claim('default', %s, 'web-7:12345:1', %s)",
                    [batch, secrets.randbits(40)],
                ).fetchall()
                ids, fences = [row[0] for row in rows], [row[1] for row in rows]
                conn.execute("select emq.complete(%s::uuid[], %s::bigint[])", [ids, fences])
                done[number] += len(rows)

    threads = [threading.Thread(target=loop, args=(k,)) for k in range(sessions)]
    for thread in threads:
        thread.start()
    rates, before = [], 0
    while time.monotonic() + EVERY <= end + 0.5:
        time.sleep(EVERY)
        now = sum(done)
        rates.append((now - before) // EVERY)
        before = now
    for thread in threads:
        thread.join()
    return Load("psycopg", sum(done), rates)
