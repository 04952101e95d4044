"""The same in child processes of `emq worker`, and in a worker that is frozen before its commit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psutil
import pytest

from tests.faults.processes import ROOT, Field, Worker
from tests.plugins.databases import Database, misplaced, scratch
from tests.plugins.running import PgServer

APP = "tests.effects.transaction_app:emq"
SHORT_LEASE = timedelta(seconds=2)
KINDS = ("session", "connection", "psycopg")
AS_ONE = """
select count(*) = 1 from effect e where e.job = %(job)s and e.xmin::text in (
  select x.xmin::text from emq.archive x where x.id = %(job)s
  union all select y.xmin::text from emq.attempt y where y.id = %(job)s)
"""


class OfApp(Worker):
    """One `emq worker` that is told of its ledger by --dsn; the application's own is elsewhere."""

    def __init__(self, field: Field, elsewhere: str, *words: str, **environ: str) -> None:
        self.log = field.logs / f"worker{len(field.workers)}.log"
        self._out = self.log.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "emq_sql", "worker", "--app", APP, "--dsn", field.dsn,
             "--poll", "0.05", *words],
            cwd=ROOT,
            env={**os.environ, "EMQ_DSN": elsewhere, "EMQ_TEST_LEDGER": field.dsn, **environ},
            stdout=self._out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        field.workers.append(self)


@pytest.fixture(scope="module")
def _house(
    pg_server: PgServer, _template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Field]:
    with scratch(pg_server, _template) as database:
        place = Field(database.dsn, tmp_path_factory.mktemp("house"), database.connect())
        OfApp(place, pg_server.dsn, "--processes", "2")
        try:
            yield place
            assert misplaced(database) == []
        finally:
            place.close()


@pytest.fixture
def house(_house: Field) -> Iterator[Field]:
    """A worker with two children that tests share; each asks only for its own job."""
    yield _house
    assert _house.workers[0].process.poll() is None, _house.logged()


def ended(house: Field, job: UUID) -> list[str]:
    """How each of its runs ended, once the first has and none is left."""
    over = """
    select not exists (select from emq.active where id = %(job)s)
       and (exists (select from emq.attempt where id = %(job)s)
            or exists (select from emq.archive where id = %(job)s))
    """
    house.until(over.replace("%(job)s", f"'{job}'"))
    both = """
    select how from emq.attempt where id = %s union all
    select status from emq.archive where id = %s
    """
    return [how for (how,) in house.rows(both, job, job)]


def as_one(house: Field, job: UUID) -> bool:
    return bool(house.one(AS_ONE.replace("%(job)s", f"'{job}'")))


def refused(house: Field, job: UUID) -> int:
    return int(house.one("select count(*) from emq.refusal where id = %s", job))


def effects(house: Field, job: UUID) -> list[str]:
    return [what for (what,) in house.rows("select what from effect where job = %s", job)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("how", "end"), [("complete", "completed"), ("snooze", "snoozed"), ("retry", "failed")]
)
def test_effects_and_the_end_of_a_run_are_one_transaction_of_the_child(
    house: Field, kind: str, how: str, end: str
) -> None:
    (job,) = house.enqueue("ends", kind=kind, how=how)
    assert ended(house, job) == [end]
    assert as_one(house, job)
    assert refused(house, job) == 0
    if how == "complete":
        result = house.one("select result from emq.archive where id = %s", job)
        assert result["pid"] not in {None, house.workers[0].pid}
    else:
        waits = "select failures, stalled from emq.scheduled where id = %s"
        assert house.rows(waits, job) == [(int(how == "retry"), 0)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["raise", "early"])
def test_a_block_that_raises_leaves_neither(house: Field, kind: str, how: str) -> None:
    (job,) = house.enqueue("ends", kind=kind, how=how)
    assert ended(house, job) == ["failed"]
    assert effects(house, job) == []
    assert refused(house, job) == 0


def test_the_address_of_the_ledger_is_no_argument_of_the_children(house: Field) -> None:
    house.enqueue("awaits")
    house.until("select count(*) > 0 from emq.archive")  # so there are children
    children = psutil.Process(house.workers[0].pid).children()
    told = [word for child in children for word in child.cmdline()]
    assert "worker-child" in told
    assert not any(house.dsn in word for word in told)


def test_a_task_with_a_transaction_and_a_coroutine_and_a_retry_at_once(house: Field) -> None:
    (ships,) = house.enqueue("ships", order=7)
    (awaits,) = house.enqueue("awaits")
    (retries,) = house.enqueue("retries_outside")
    for job, result in ((ships, 7), (awaits, "awaited")):
        assert ended(house, job) == ["completed"]
        assert as_one(house, job)
        assert house.one("select result from emq.archive where id = %s", job) == result
    assert ended(house, retries) == ["failed"]
    assert house.one("select error from emq.attempt where id = %s", retries) == "at once"
    assert house.one("select failures from emq.scheduled where id = %s", retries) == 1


def test_who_has_lost_the_job_commits_nothing(house: Field) -> None:
    (job,) = house.enqueue("loses")
    house.until("select count(*) = 1 from started where job = %s", job)
    house.reader.execute(
        "update emq.active set lease_deadline = clock_timestamp() - interval '1 s' where id = %s",
        [job],
    )
    house.until("select count(*) = 1 from emq.archive where id = %s", job)
    assert house.one("select result from emq.archive where id = %s", job) == "second"
    assert effects(house, job) == []
    house.until("select count(*) > 0 from emq.refusal where id = %s", job)


def test_a_session_that_ends_before_the_commit_costs_a_failure_and_leaves_nothing(
    house: Field,
) -> None:
    (job,) = house.enqueue("loses_its_connection")
    house.until("select count(*) = 1 from emq.archive where id = %s", job)
    assert house.one("select result from emq.archive where id = %s", job) == "second"
    assert house.rows("select how from emq.attempt where id = %s", job) == [("failed",)]
    assert effects(house, job) == []
    assert refused(house, job) == 0


@pytest.mark.faults
def test_a_worker_frozen_before_its_commit_loses_its_session_and_the_job_comes_back(
    db: Database, pg_server: PgServer, tmp_path: Path
) -> None:
    """The bound is that of the settling statement: the lease, and ten seconds at least."""
    gate = tmp_path / "gate"
    place = Field(db.dsn, tmp_path, db.connect())
    try:
        frozen = OfApp(place, pg_server.dsn, "--concurrency", "1", EMQ_TEST_GATE=str(gate))
        (job,) = place.enqueue("freezes", _lease=SHORT_LEASE)
        place.until_started(1)
        bounds = place.one(
            "select count(*) from pg_stat_activity where datname = current_database()"
            " and state = 'idle in transaction'"
        )
        assert bounds == 1
        frozen.send(signal.SIGSTOP)
        OfApp(place, pg_server.dsn, "--concurrency", "1", EMQ_TEST_GATE=str(gate))
        place.until_archived(1)
        gate.touch()
        frozen.send(signal.SIGCONT)
        place.until("select count(*) > 0 from emq.refusal where id = %s", job)
        assert effects(place, job) == ["attempt 2"]
        assert place.rows("select attempts, stalled from emq.archive") == [(2, 1)]
    finally:
        place.close()
