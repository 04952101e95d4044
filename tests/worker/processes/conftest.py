"""Workers with child processes, and what the kernel and the ledger say of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import pytest

from tests.faults.processes import ROOT, Field, Worker, wait_for
from tests.plugins.databases import Database, misplaced, scratch
from tests.plugins.running import PgServer

PATIENCE = 60.0
SHORT_LEASE = 0.5


class Parent(Worker):
    """One worker of `tests.worker.processes.runner`."""

    def __init__(
        self, dsn: str, log: Path, environ: dict[str, str] | None = None, **settings: Any
    ) -> None:
        given = {"poll": 0.1, "grace": 10, "processes": 1, **settings}
        self.log = log
        self._out = log.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.worker.processes.runner", json.dumps(given)],
            cwd=ROOT, env={**os.environ, "EMQ_DSN": dsn, **(environ or {})},
            stdout=self._out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def children(self, *, recursive: bool = False) -> list[psutil.Process]:
        """Its child processes that live."""
        found = psutil.Process(self.pid).children(recursive=recursive)
        return [child for child in found if lives(child.pid)]


class Family(Field):
    """A database, and workers with child processes."""

    def start(self, environ: dict[str, str] | None = None, **settings: Any) -> Parent:
        log = self.logs / f"worker{len(self.workers)}.log"
        worker = Parent(self.dsn, log, environ, **settings)
        self.workers.append(worker)
        return worker

    def wait(self, true: Callable[[], Any], what: str) -> None:
        wait_for(true, what, self, PATIENCE)

    def until(self, query: str, *params: Any, seconds: float = PATIENCE) -> None:
        super().until(query, *params, seconds=PATIENCE)

    def until_gone(self, *pids: int) -> None:
        """None of these processes lives."""
        self.wait(lambda: not any(lives(pid) for pid in pids), f"{pids} are gone")

    def until_children(self, worker: Parent, n: int) -> list[psutil.Process]:
        """So many of its children live."""
        self.wait(lambda: len(worker.children()) == n, f"{n} children")
        return worker.children()

    def until_begun(self, *jobs: UUID) -> list[int]:
        """The processes of the first runs of these jobs."""
        begun = "select count(distinct job) = %s from started where job = any(%s)"
        self.until(begun, len(jobs), list(jobs))
        first = (
            "select distinct on (job) job, pid from started where job = any(%s) order by job, at"
        )
        pids = dict(self.rows(first, list(jobs)))
        return [pids[job] for job in jobs]

    def completed(self, *jobs: UUID) -> list[tuple[int, int, int]]:
        """(attempts, stalled, failures) of each, once all have completed."""
        done = "select count(*) = %s from emq.archive where status = 'completed' and id = any(%s)"
        self.until(done, len(jobs), list(jobs))
        counts = "select id, attempts, stalled, failures from emq.archive where id = any(%s)"
        known = {id: tuple(rest) for id, *rest in self.rows(counts, list(jobs))}
        return [known[job] for job in jobs]

    def result(self, job: UUID) -> Any:
        self.completed(job)
        return self.one("select result from emq.archive where id = %s", job)

    def died(self, job: UUID) -> tuple[Any, ...]:
        """(reason, stalled, failures, error), once it is a dead letter."""
        self.until("select exists (select from emq.dead where id = %s)", job)
        return self.rows(
            "select reason, stalled, failures, error from emq.dead where id = %s", job
        )[0]

    def effects(self, job: UUID) -> list[str]:
        return [what for (what,) in self.rows("select what from effect where job = %s", job)]

    def attempts(self, job: UUID) -> list[tuple[str, str]]:
        """How each claim of it ended that did not complete it, and the error."""
        ended = "select how, error from emq.attempt where id = %s order by fence"
        return self.rows(ended, job)

    def refused(self, job: UUID) -> int:
        return int(self.one("select count(*) from emq.refusal where id = %s", job))

    def waiting(self) -> list[tuple[Any, ...]]:
        return self.rows("select id, attempts, stalled, failures from emq.pending order by id")


def lives(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def family(db: Database, tmp_path: Path) -> Iterator[Family]:
    """Workers with children, on a database with the newest schema; none outlives the test."""
    place = Family(db.dsn, tmp_path, db.connect())
    children: list[int] = []
    try:
        yield place
    finally:
        for worker in place.workers:
            if worker.process.poll() is None:
                found = psutil.Process(worker.pid).children(recursive=True)
                children += [child.pid for child in found]
        place.close()
        place.until_gone(*children)


@pytest.fixture(scope="session")
def _household(
    pg_server: PgServer, _template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Family]:
    with scratch(pg_server, _template) as database:
        place = Family(database.dsn, tmp_path_factory.mktemp("household"), database.connect())
        place.reader.execute("select emq.configure('poison', p_max_stalled => 1)")
        place.start(processes=3, lease=SHORT_LEASE, queues=["default", "poison"], poll=0.05)
        try:
            yield place
            assert misplaced(database) == []
        finally:
            place.close()


@pytest.fixture
def household(_household: Family) -> Iterator[Family]:
    """One worker with three children and a short lease that tests share, so as to start no other.

    Each test asks only for its own jobs, and leaves nothing running.
    """
    yield _household
    assert _household.workers[0].process.poll() is None, _household.logged()
    _household.until("select count(*) = 0 from emq.active")
