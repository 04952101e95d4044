"""Real worker processes, and waiting for what the database says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from emq_sql.job import NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import enqueueing
from tests.faults.jobs import TABLES

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0


class Worker:
    """One worker process of `tests.faults.runner`; its log is in a file."""

    def __init__(
        self, dsn: str, log: Path, environ: dict[str, str] | None = None, **settings: Any
    ) -> None:
        given = {"poll": 0.1, "grace": 10, **settings}
        self.log = log
        self._out = log.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.runner", json.dumps(given)],
            cwd=ROOT, env={**os.environ, "EMQ_DSN": dsn, **(environ or {})},
            stdout=self._out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        """The exit code; negative for the signal that ended it."""
        return self.process.wait(seconds)

    def said(self) -> str:
        return self.log.read_text()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        self._out.close()


@dataclass
class Field:
    """A database with the tables of the tasks, and the workers that a test starts on it."""

    dsn: str
    logs: Path
    reader: psycopg.Connection[Any]
    workers: list[Worker] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reader.execute(TABLES)

    def start(self, environ: dict[str, str] | None = None, **settings: Any) -> Worker:
        """Start a worker; it is ended at the end of the test if it has not ended itself."""
        log = self.logs / f"worker{len(self.workers)}.log"
        dsn = settings.pop("dsn", self.dsn)
        worker = Worker(dsn, log, environ, **settings)
        self.workers.append(worker)
        return worker

    def close(self) -> None:
        for worker in self.workers:
            worker.close()

    def enqueue(self, task: str, n: int = 1, queue: str = "default", **given: Any) -> list[UUID]:
        """Jobs with these arguments; options of the job begin with an underscore."""
        options = {k[1:]: given.pop(k) for k in list(given) if k.startswith("_")}
        jobs = [NewJob(task, json.dumps(given), new_id(), **options) for _ in range(n)]
        enqueueing.enqueue_many(self.reader, "emq", queue, jobs, own=True)
        return [job.id for job in jobs]

    def rows(self, query: str, *params: Any) -> list[tuple[Any, ...]]:
        return self.reader.execute(query, list(params)).fetchall()

    def one(self, query: str, *params: Any) -> Any:
        return self.rows(query, *params)[0][0]

    def until(self, query: str, *params: Any, seconds: float = PATIENCE) -> None:
        """Wait until the query answers true."""
        wait_for(lambda: self.one(query, *params), query, self, seconds)

    def until_archived(self, n: int, seconds: float = PATIENCE) -> None:
        self.until("select count(*) = %s from emq.archive", n, seconds=seconds)

    def until_started(self, n: int, seconds: float = PATIENCE) -> None:
        self.until("select count(*) >= %s from started", n, seconds=seconds)

    def let_go(self, key: str = "go") -> None:
        self.reader.execute("insert into go values (%s)", [key])

    def logged(self) -> str:
        return "\n".join(f"--- {w.log.name}\n{w.said()[-2000:]}" for w in self.workers)


def wait_for(
    true: Callable[[], Any], what: str, place: Field | None = None, seconds: float = PATIENCE
) -> None:
    """Poll until it is true; fails with what the workers said."""
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            raise AssertionError(
                f"not within {seconds} s: {what}\n{place.logged() if place else ''}"
            )
        time.sleep(0.02)
