"""Workers in a thread of the test, on a real database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import Engine

from emq_sql.effects.effects import DatabaseEffects
from emq_sql.job import NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import enqueueing
from emq_sql.rules.payload import encode
from emq_sql.upkeep.maintenance import Maintenance
from emq_sql.worker.handler import Handler
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.worker import Worker
from tests.plugins.databases import Database

PATIENCE = 20.0


@dataclass
class Bench:
    """A database, the tasks that a test registers, and the workers that it starts."""

    db: Database
    reader: psycopg.Connection[Any]
    handlers: dict[str, Handler] = field(default_factory=dict)
    running: list[tuple[Worker, threading.Thread]] = field(default_factory=list)

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.db.dsn, autocommit=True)

    @cached_property
    def engine(self) -> Engine:
        """The application's, as far as handlers need one of the worker's."""
        return create_engine(self.db.dsn.replace("postgresql:", "postgresql+psycopg:", 1))

    def task(self, function: Callable[..., Any], **given: Any) -> str:
        name = getattr(function, "__name__", "task")
        self.handlers[name] = Handler(name, function, **given)
        return name

    def enqueue(self, task: str, *args: Any, queue: str = "default", n: int = 1) -> list[UUID]:
        jobs = [NewJob(task, encode(args, {}), new_id()) for _ in range(n)]
        enqueueing.enqueue_many(self.reader, "emq", queue, jobs, own=True)
        return [job.id for job in jobs]

    def start(self, **given: Any) -> Worker:
        settings: dict[str, Any] = {"queues": ("default",), "poll": timedelta(seconds=0.05)} | given
        effects = DatabaseEffects("emq", lambda: self.engine)
        worker = Worker(self.connect, "emq", self.handlers, WorkerSettings(**settings), effects)
        thread = threading.Thread(target=worker.run, name="worker", daemon=True)
        thread.start()
        self.running.append((worker, thread))
        return worker

    def burst(self, **given: Any) -> None:
        """Run a worker to the end of a burst."""
        self.start(burst=True, **given)
        self.running[-1][1].join(PATIENCE)
        assert not self.running[-1][1].is_alive()

    def rows(self, query: str, *params: Any) -> list[tuple[Any, ...]]:
        return self.reader.execute(query, list(params)).fetchall()

    def until(self, query: str, *params: Any) -> None:
        end = time.monotonic() + PATIENCE
        while not self.rows(query, *params)[0][0]:
            assert time.monotonic() < end, query
            time.sleep(0.01)

    def close(self) -> None:
        for worker, thread in self.running:
            worker.release_now()
            thread.join(PATIENCE)


@pytest.fixture
def bench(db: Database) -> Iterator[Bench]:
    """Workers in threads; all are told to stop at the end."""
    place = Bench(db, db.connect())
    upkeep = Maintenance(place.connect, "emq", timedelta(seconds=0.1))
    thread = threading.Thread(target=upkeep.run, daemon=True)
    thread.start()
    try:
        yield place
    finally:
        place.close()
        upkeep.stop()
        thread.join(PATIENCE)
