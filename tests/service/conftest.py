"""Real `emq worker` processes, as an operator starts them and as probes see them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from emq_sql.job import NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import enqueueing
from tests.plugins.databases import Database

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0
APP = "tests.service.an_app:emq"


class Worker:
    """One `emq worker`; its log is in a file, its health on a port of its own."""

    def __init__(self, dsn: str, folder: Path, options: tuple[str, ...], env: dict[str, str]):
        self.port = free_port()
        self.log = folder / f"worker{self.port}.log"
        self._end: int | None = None
        command = ["nohup"] if env.pop("AN_APP_NOHUP", None) else []
        command += [sys.executable, "-m", "emq_sql", "worker", "--app", APP]
        command += ["--poll", "0.1", "--health-port", str(self.port), *options]
        if env.pop("AN_APP_CLOSED", None):
            command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command]
        if env.pop("AN_APP_UNREAD", None):
            os.mkfifo(self.log)
            self._end = os.open(self.log, os.O_RDWR)  # there is a reader, and it does not read
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                env=os.environ | {"EMQ_DSN": dsn, "AN_APP_FOLDER": str(folder)} | env,
            )  # fmt: skip

    def ask(self, path: str, timeout: float = 5.0) -> tuple[int, str]:
        """Status and text of an answer; status 0 when there is none."""
        try:
            url = f"http://127.0.0.1:{self.port}{path}"
            with urllib.request.urlopen(url, timeout=timeout) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def status(self, path: str) -> int:
        return self.ask(path)[0]

    def said(self) -> str:
        if self._end is not None:
            return "(not read)"
        return self.log.read_text(errors="replace")

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        return self.process.wait(seconds)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        if self._end is not None:
            os.close(self._end)


@dataclass
class Place:
    """A database, a folder, and the workers that a test starts there."""

    dsn: str
    folder: Path
    reader: psycopg.Connection[Any]
    workers: list[Worker] = field(default_factory=list)

    def start(self, *options: str, **env: str) -> Worker:
        worker = Worker(self.dsn, self.folder, options, env)
        self.workers.append(worker)
        return worker

    def started(self, *options: str, **env: str) -> Worker:
        """A worker that is ready."""
        worker = self.start(*options, **env)
        self.until(lambda: worker.status("/ready") == 200, "ready")
        return worker

    def enqueue(self, task: str, n: int = 1, **given: Any) -> list[UUID]:
        """Jobs with these arguments; options of the job begin with an underscore."""
        options = {name[1:]: given.pop(name) for name in list(given) if name.startswith("_")}
        jobs = [NewJob(task, json.dumps(given), new_id(), **options) for _ in range(n)]
        enqueueing.enqueue_many(self.reader, "emq", "default", jobs, own=True)
        return [job.id for job in jobs]

    def rows(self, query: str, *params: Any) -> list[tuple[Any, ...]]:
        return self.reader.execute(query.encode(), params or None).fetchall()

    def until_true(self, query: str, *params: Any) -> None:
        self.until(lambda: self.rows(query, *params)[0][0], query)

    def until_running(self, n: int) -> None:
        self.until(lambda: len(list(self.folder.glob("started-*"))) >= n, f"{n} running")

    def touch(self, name: str = "go") -> None:
        (self.folder / name).touch()

    def until(self, true: Callable[[], Any], what: str, seconds: float = PATIENCE) -> None:
        """Poll until it is true; fails with what the workers said."""
        end = time.monotonic() + seconds
        while not true():
            said = "\n".join(worker.said()[-3000:] for worker in self.workers)
            assert time.monotonic() < end, f"{what}\n{said}"
            time.sleep(0.02)

    def close(self) -> None:
        for worker in self.workers:
            worker.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


@pytest.fixture
def place(db: Database, tmp_path: Path) -> Iterator[Place]:
    """Workers on a database with the newest schema; none outlives the test."""
    place = Place(db.dsn, tmp_path, db.connect())
    try:
        yield place
    finally:
        place.close()
