"""Workers of `cancel_app`, started as an operator does, and `emq cancel` beside them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from click.testing import CliRunner, Result

from emq_sql.cli.main import main
from emq_sql.job import NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import enqueueing
from tests.faults.processes import ROOT, Field, Worker, wait_for

_LEASE = timedelta(minutes=10)  # no extension comes while a test waits
WAITING = """
select count(*) = %s from pg_stat_activity
 where datname = current_database() and wait_event_type = 'Lock' and query like '%%advisory%%'
"""


class OfApp(Worker):
    """One `emq worker`; its log is in a file."""

    def __init__(self, dsn: str, log: Path, environ: dict[str, str], *words: str) -> None:
        self.log = log
        self._out = log.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "emq_sql", "worker", "--app", "tests.effects.cancel_app:emq",
             "--poll", "0.1", *words],
            cwd=ROOT, env={**os.environ, "EMQ_DSN": dsn, **environ},
            stdout=self._out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip


class Cells(Field):
    """A database, workers of the application, and who cancels their jobs."""

    def work(self, *words: str, **environ: str) -> OfApp:
        log = self.logs / f"worker{len(self.workers)}.log"
        worker = OfApp(self.dsn, log, environ, *words)
        self.workers.append(worker)
        return worker

    def begun(self, task: str, *words: str, **environ: str) -> tuple[UUID, OfApp]:
        """A job of this task that runs, in a worker that hears its bell."""
        worker = self.work(*words, **environ)
        return self.run(task), worker

    def run(self, task: str) -> UUID:
        """Another one."""
        job = NewJob(task, "{}", new_id(), lease=_LEASE)
        enqueueing.enqueue_many(self.reader, "emq", "default", [job], own=True)
        self.until("select count(*) > 0 from started where job = %s", job.id)
        return job.id

    def cancel(self, *words: str | UUID, code: int = 0) -> Result:
        command = ["cancel", *map(str, words)]
        result = CliRunner().invoke(main, command, env={"EMQ_DSN": self.dsn})
        assert result.exit_code == code, (result.output, result.exception, self.logged())
        return result

    def cancelled(self, *words: str | UUID) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.cancel(*words, "--json").stdout)
        return rows

    def what(self, job: UUID) -> list[str]:
        return [what for (what,) in self.rows("select what from effect where job = %s", job)]

    def until_noted(self, job: UUID, what: str) -> None:
        self.until("select count(*) > 0 from effect where job = %s and what like %s", job, what)

    def hold_lock(self) -> None:
        self.reader.execute("select pg_advisory_lock(42)")

    def release_lock(self) -> None:
        self.reader.execute("select pg_advisory_unlock_all()")

    def ended_as_cancelled(self, job: UUID) -> None:
        """Once, and nothing else became of it."""
        assert self.rows("select status from emq.archive where id = %s", job) == [("cancelled",)]
        assert self.rows("select how from emq.attempt where id = %s", job) == [("cancelled",)]
        assert self.rows("select place from emq.place(%s)", job) == [("cancelled",)]

    def until_said(self, worker: Worker, what: str) -> None:
        wait_for(lambda: what in worker.said(), what, self)
