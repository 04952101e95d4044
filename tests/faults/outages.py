"""Jobs and workers through an outage: all settle, nothing twice, and nobody has to do anything."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg

from emq_sql import EMQ
from emq_sql.errors import Ambiguous, Retryable
from emq_sql.minting import new_id
from emq_sql.protocol import steps
from tests.faults.forking import ForkedField
from tests.faults.outage_jobs import TABLES
from tests.faults.processes import wait_for

SLICE = 240
JOBS = int(os.environ.get("EMQ_SQL_OUTAGE_JOBS", SLICE))
CAMPAIGN = JOBS > SLICE
WORKERS: tuple[dict[str, Any], ...] = ({"processes": 2}, {"concurrency": 4}, {"concurrency": 4})
SECONDS = 0.05
PATIENCE = 120.0
LEFT = "select (select count(*) from emq.{}) = 0"


class OutageField(ForkedField):
    """A field without the tables of other tests; its server may go away.

    `listen`: the address at which the bell is heard, if it is another one.
    """

    listen: str | None = None

    def __post_init__(self) -> None:
        self.reader.execute("drop schema if exists emq cascade")
        self.reader.execute("drop table if exists effect")
        steps.upgrade(self.reader)
        self.reader.execute(TABLES)


class Producer(threading.Thread):
    """Enqueues one job after the other, and asks again under the same id until it is answered."""

    def __init__(self, dsn: str, tasks: list[str]) -> None:
        super().__init__(daemon=True)
        self._dsn = dsn
        self._tasks = tasks
        self.acknowledged: list[UUID] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        emq = EMQ(self._dsn)
        send = {name: emq.task(name=name)(lambda seconds: None) for name in ("plain", "own")}
        try:
            for name in self._tasks:
                job = send[name].using(job_id=new_id())
                while True:
                    try:
                        self.acknowledged.append(job.enqueue(seconds=SECONDS).id)
                        break
                    except (Retryable, Ambiguous):
                        continue
        except BaseException as error:
            self.error = error
        finally:
            emq.engine.dispose()


def ride_out(
    field: OutageField, *outages: Callable[[], object], producing: bool = True, lose: bool = False
) -> None:
    """Outages in the middle of JOBS jobs; a job that runs for as long as all of them is the worst.

    An outage gives back, if it has a better one, the connection that the field reads by afterwards.
    With `lose` acknowledged jobs may be missing in the end, but what there is must be whole.
    """
    gate = field.logs / "go"
    tasks = ["own", "plain"] * (JOBS // 2)
    ahead = tasks[: JOBS * 3 // 4] if producing else tasks
    (long,) = field.enqueue("long", until=str(gate))
    workers = []
    for slots in WORKERS:
        workers.append(field.start(lease=30, listen=field.listen, **slots))
        # The first one has child processes, and the long job is one's.
        field.until("select exists (select from emq.active where id = %s)", long)
        field.until_working(workers[-1])
    known = {long}
    for name in ("own", "plain"):
        known |= set(field.enqueue(name, ahead.count(name), seconds=SECONDS))
    producer = Producer(field.dsn, tasks[len(ahead) :])
    producer.start()
    for number, outage in enumerate(outages, 1):
        enough = JOBS * number // (len(outages) + 2)
        field.until("select count(*) >= %s from emq.archive", enough, seconds=PATIENCE)
        assert field.one("select count(*) < %s from emq.archive", JOBS), "not in the middle"
        assert field.one("select count(*) > 0 from emq.active")
        better = outage()
        if isinstance(better, psycopg.Connection):
            field.reader = better
    producer.join(PATIENCE)
    assert not producer.is_alive()
    assert producer.error is None, producer.error
    gate.touch()
    known |= set(producer.acknowledged)
    wait_for(lambda: _settled(field, known, lose), "all are settled", field, PATIENCE)
    assert_whole(field, known, lose)
    assert field.one("select count(distinct worker) from emq.archive") == len(workers)
    attempts = field.one("select attempts from emq.archive where id = %s", long)
    assert attempts == 1, "the long job had to run again"
    assert [worker.poll() for worker in workers] == [None] * len(workers)


def _settled(field: OutageField, known: set[UUID], lose: bool) -> bool:
    if not lose:
        return bool(field.one("select count(*) = %s from emq.archive", len(known)))
    return all(field.one(LEFT.format(place)) for place in ("pending", "scheduled", "active"))


def assert_whole(field: OutageField, known: set[UUID], lose: bool = False) -> None:
    """Each job completed once; its effect is there, and once when both were one transaction."""
    archived = [id for (id,) in field.rows("select id from emq.archive where status = 'completed'")]
    assert len(archived) == len(set(archived))
    assert set(archived) <= known if lose else set(archived) == known
    assert field.rows("select reason, error from emq.dead") == []
    assert field.rows("select * from emq.misplaced") == []
    of_task = "from effect e join emq.job j on j.id = e.job where j.task in ('own', 'long')"
    twice = f"select e.job, count(*) {of_task} group by e.job having count(*) > 1"
    assert field.rows(twice) == []
    missing = """select a.id, j.task from emq.archive a join emq.job j on j.id = a.id
                  where not exists (select from effect e where e.job = a.id
                                       and (j.task = 'plain' or e.fence = a.fence))"""
    assert field.rows(missing) == []


def reconnected(dsn: str) -> psycopg.Connection[Any]:
    """A connection to a server that is just coming back."""
    found: list[psycopg.Connection[Any]] = []

    def there() -> bool:
        try:
            found.append(psycopg.connect(dsn, autocommit=True, connect_timeout=5))
        except psycopg.OperationalError:
            return False
        return True

    wait_for(there, "the server is back")
    return found[0]
