"""Deploys end a long job over and over: they cost it nothing, and it completes at last.

EMQ_SQL_DEPLOYS says how many; the suite runs a slice.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.forking import Forked, ForkedField, Nursery
from tests.plugins.databases import Database

DEPLOYS = int(os.environ.get("EMQ_SQL_DEPLOYS", "20"))
OVERLAP = 3
PATIENCE = 60.0


@pytest.fixture
def field(db: Database, tmp_path: Path) -> Iterator[ForkedField]:
    made = ForkedField(db.dsn, tmp_path, db.connect())
    made.nursery = Nursery("tests.faults.deploy_jobs")
    try:
        yield made
    finally:
        made.close()
        made.nursery.close()


@pytest.mark.timeout(60 + DEPLOYS)
def test_deploys_while_it_runs_cost_a_long_job_nothing_and_it_completes(
    field: ForkedField, tmp_path: Path
) -> None:
    gate = tmp_path / "go"
    # The smallest of budgets: a single failure or lost lease would make it a dead letter.
    (job,) = field.enqueue("long", until=str(gate), _max_attempts=1)
    ending: list[Forked] = []
    for _ in range(DEPLOYS):
        worker = field.start(grace=0)
        field.until("select exists (select from started where pid = %s)", worker.pid)
        worker.send(signal.SIGTERM)
        field.until("select exists (select from emq.pending where id = %s)", job)
        assert field.rows("select stalled, failures from emq.pending") == [(0, 0)]
        # As in a rolling deploy the next one starts while the last ones are still leaving.
        ending.append(worker)
        if len(ending) > OVERLAP:
            left = ending.pop(0)
            assert left.wait(PATIENCE) == 0, left.said()
    assert [worker.wait(PATIENCE) for worker in ending] == [0] * len(ending)
    gate.touch()
    assert field.start(burst=True).wait(PATIENCE) == 0
    counts = "select id, attempts, stalled, failures, status, result from emq.archive"
    assert field.rows(counts) == [(job, DEPLOYS + 1, 0, 0, "completed", "went")]
    ended = "select how, count(*), count(distinct fence) from emq.attempt group by how"
    assert field.rows(ended) == [("released", DEPLOYS, DEPLOYS)]
    assert field.one("select count(*) from started") == DEPLOYS + 1
    assert field.one("select count(*) from emq.refusal") == 0
    assert field.one("select count(*) from emq.worker") == 0
