"""A task that only a child does not know is said and counted as one that its worker does not."""

from __future__ import annotations

import threading

import psycopg
import pytest

from emq_sql.effects.effects import DatabaseEffects
from emq_sql.job import NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import enqueueing
from emq_sql.worker.processes.pool import Processes
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.worker import Worker
from tests.plugins.databases import Database
from tests.worker.processes.jobs import HANDLERS
from tests.worker.processes.runner import CHILD


def test_what_a_child_does_not_know_is_said_once_and_counted(
    db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("EMQ_DSN", db.dsn)
    monkeypatch.setenv("EMQ_TEST_LACKS", "echo")
    with db.connect() as reader:
        jobs = [NewJob("echo", '{"text": "a"}', new_id()) for _ in range(3)]
        enqueueing.enqueue_many(reader, "emq", "default", jobs, own=True)
        worker = Worker(
            lambda: psycopg.connect(db.dsn, autocommit=True), "emq", HANDLERS,
            WorkerSettings(queues=("default",), processes=2, burst=True), DatabaseEffects("emq"),
            lambda held, ended: Processes(CHILD, 2, held, ended, lambda: worker),
        )  # fmt: skip
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        counts = "select count(*), sum(failures), sum(stalled) from emq.scheduled"
        assert reader.execute(counts).fetchall() == [(3, 0, 0)]
    assert worker.pulse.reading().unknown == {"echo": 3}
    assert caplog.text.count("knows no task 'echo'") == 1
    assert "a child process" in caplog.text
