"""The conversations that the cutter breaks, and what must be true of each when it has settled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from emq_sql import EMQ, Task
from emq_sql.effects.effects import DatabaseEffects
from emq_sql.errors import Ambiguous
from emq_sql.job import NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import enqueueing
from emq_sql.worker.context import Job
from emq_sql.worker.handler import Handler
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.worker import Worker
from tests.faults.cutting import Cut, Cutter, cutter

PATIENCE = 30.0
TABLES = """
create table paid (job uuid not null);  -- in a transaction of the user's, beside the enqueue
create table ran (job uuid not null);  -- by handlers that nobody guards
create table effect (job uuid not null);  -- in the transaction that completes
create table told (job uuid not null, outcome text not null, committed boolean not null)
"""

EFFECT = text("insert into effect values (:id)")
TELL = "insert into told values (%s, %s, exists (select from effect where job = %s))"


@dataclass
class Place:
    """One conversation, at a queue of its own."""

    dsn: str
    queue: str
    proxy: Cutter
    cut: Cut | None
    reader: psycopg.Connection[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.reader = psycopg.connect(self.dsn, autocommit=True)

    def one(self, query: str, *params: Any) -> Any:
        row = self.reader.execute(query.encode(), list(params)).fetchone()
        assert row is not None
        return row[0]

    def until(self, query: str, *params: Any) -> None:
        end = time.monotonic() + PATIENCE
        while not self.one(query, *params):
            assert time.monotonic() < end, f"{self.queue}, {self.cut}: never came true: {query}"
            time.sleep(0.01)

    def added(self, n: int, task: str) -> list[UUID]:
        jobs = [NewJob(task, "{}", new_id()) for _ in range(n)]
        enqueueing.enqueue_many(self.reader, "emq", self.queue, jobs, own=True)
        return [job.id for job in jobs]

    def count(self, table: str, id: UUID) -> int:
        return int(self.one(f"select count(*) from {table} where job = %s", id))

    def must(self, true: bool, what: str) -> None:
        assert true, f"{self.queue}, {self.cut}: {what}; heard {self.proxy.heard}"


Conversation = Callable[[Place], None]


@contextmanager
def place(dsn: str, queue: str, cut: Cut | None) -> Iterator[Place]:
    """Everything that is open at the end is closed."""
    with cutter(dsn) as proxy:
        made = Place(dsn, queue, proxy, cut)
        try:
            yield made
        finally:
            made.reader.close()


def enqueue(place: Place) -> None:
    """In a transaction of its own, from the first message of its connection on."""
    emq, task = _application(place, place.proxy.dsn)
    place.proxy.listen(place.cut)
    answer = task.enqueue()
    place.proxy.stop()
    emq.engine.dispose()
    jobs = place.one("select array_agg(id) from emq.pending where queue = %s", place.queue)
    place.must(jobs == [answer.id], f"acknowledged {answer.id}, and there is {jobs}")
    place.must(answer.status == "enqueued", f"answered {answer.status}")


def enqueue_in_a_transaction(place: Place) -> None:
    """With `session=`: the job is there if what else was written is; a repeat by its id is safe."""
    emq, task = _application(place, place.proxy.dsn)
    id = new_id()

    def pay() -> str:
        with Session(emq.engine) as session:
            session.execute(text("insert into paid values (:id)"), {"id": id})
            answer = task.using(session=session, job_id=id).enqueue()
            session.commit()
            return answer.status

    acknowledged = True
    place.proxy.listen(place.cut)
    try:
        pay()
    except Exception:
        acknowledged = False
    place.proxy.stop()
    there = "select count(*) from emq.pending where queue = %s and id = %s"
    with _direct(place) as direct:
        again = direct.using(job_id=id).enqueue()  # waits for a commit that is still under way
    paid = place.count("paid", id)
    place.must(paid == 1 or not acknowledged, "acknowledged, and not there")
    place.must(again.duplicate == bool(paid), f"paid {paid}, and the repeat was {again.status}")
    place.must(place.one(there, place.queue, id) == 1, "not exactly one job")
    emq.engine.dispose()


def work(place: Place) -> None:
    """A worker claims two jobs, one after the other, runs and completes them, and is drained."""

    def handler(job: Job) -> None:
        with psycopg.connect(place.dsn, autocommit=True) as connection:
            connection.execute("insert into ran values (%s)", [job.id])

    ids = place.added(2, "handler")
    place.proxy.listen(place.cut)
    with _working(place, handler, through=place.proxy.dsn):
        _all_done(place, ids)
    place.proxy.stop()
    for id in ids:
        ran, attempts = place.count("ran", id), _attempts(place, id)
        place.must(ran == attempts == 1, f"ran {ran} times in {attempts} attempts")


def extend(place: Place) -> None:
    """The keeper of a worker extends a lease, as the handler wants it to."""

    def handler(job: Job) -> None:
        job.extend()

    ids = place.added(1, "handler")
    place.proxy.listen(place.cut)
    with _working(place, handler, keeper_through=place.proxy.dsn):
        _all_done(place, ids)
    place.proxy.stop()
    for id in ids:
        place.must(_attempts(place, id) == 1, f"{_attempts(place, id)} attempts")


def effects(place: Place) -> None:
    """A handler's transaction: effect and completion are committed as one."""
    engine = _engine(place.proxy.dsn)

    def handler(job: Job) -> None:
        try:
            with job.transaction() as session:
                session.execute(EFFECT, {"id": job.id})
        except Ambiguous:
            outcome = job.outcome()
            with psycopg.connect(place.dsn, autocommit=True) as connection:
                connection.execute(TELL, [job.id, outcome, job.id])
            if outcome != "completed":
                raise

    ids = place.added(1, "handler")
    place.proxy.listen(place.cut)
    with _working(place, handler, engine=engine):
        _all_done(place, ids)
    place.proxy.stop()
    engine.dispose()
    wrong = "select count(*) from told where job = any(%s) and (outcome = 'completed') != committed"
    place.must(place.one(wrong, ids) == 0, "job.outcome() was wrong")
    for id in ids:
        place.must(place.count("effect", id) == 1, f"{place.count('effect', id)} effects")


def repeated_by_a_new_id(place: Place) -> None:
    """Wrong on purpose: an enqueue whose answer was lost is made anew."""
    place.proxy.listen(place.cut)
    for tries in range(3):
        try:
            with psycopg.connect(place.proxy.dsn, autocommit=True) as connection:
                job = NewJob("handler", "{}", new_id())
                enqueueing.enqueue(connection, "emq", place.queue, job, own=True)
            break
        except Exception:
            assert tries < 2
    place.proxy.stop()
    jobs = place.one("select count(*) from emq.pending where queue = %s", place.queue)
    place.must(jobs == 1, f"{jobs} jobs")


def effects_beside_the_completion(place: Place) -> None:
    """Wrong on purpose: the effect is committed, and then the job is completed."""
    engine = _engine(place.proxy.dsn)

    def handler(job: Job) -> None:
        with Session(engine) as session:
            session.execute(EFFECT, {"id": job.id})
            session.commit()

    ids = place.added(1, "handler")
    place.proxy.listen(place.cut)
    with _working(place, handler):
        _all_done(place, ids)
    place.proxy.stop()
    engine.dispose()
    for id in ids:
        place.must(place.count("effect", id) == 1, f"{place.count('effect', id)} effects")


CONVERSATIONS: dict[str, Conversation] = {
    "claim, complete_and_claim, complete": work,
    "extend": extend,
    "enqueue": enqueue,
    "enqueue in a transaction": enqueue_in_a_transaction,
    "job.transaction": effects,
}
WRONG: tuple[Conversation, ...] = (repeated_by_a_new_id, effects_beside_the_completion)


def _application(place: Place, dsn: str) -> tuple[EMQ, Task[[], None]]:
    emq = EMQ(dsn, bell=False)

    @emq.task(name="handler", queue=place.queue)
    def task() -> None: ...

    return emq, task


@contextmanager
def _direct(place: Place) -> Iterator[Task[[], None]]:
    emq, task = _application(place, place.dsn)
    try:
        yield task
    finally:
        emq.engine.dispose()


def _engine(dsn: str) -> Engine:
    return create_engine(dsn.replace("postgresql:", "postgresql+psycopg:", 1))


@contextmanager
def _working(
    place: Place, handler: Callable[[Job], None], *, through: str | None = None,
    keeper_through: str | None = None, engine: Engine | None = None,
) -> Iterator[None]:  # fmt: skip
    """A worker with one slot, whose own connection, or its keeper's, leads through the proxy."""
    name = f"worker of {place.queue}"

    def connect() -> psycopg.Connection[Any]:
        mine = through if threading.current_thread().name == name else keeper_through
        return psycopg.connect(mine or place.dsn, autocommit=True)

    settings = WorkerSettings(queues=(place.queue,), poll=timedelta(seconds=0.05))
    task = Handler("handler", handler, takes_context=True, backoff=lambda _: 0.01)
    effects = DatabaseEffects("emq", engine or _engine(place.dsn))
    worker = Worker(connect, "emq", {"handler": task}, settings, effects)
    thread = threading.Thread(target=worker.run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        worker.drain()
        thread.join(PATIENCE)
        assert not thread.is_alive(), f"{name}: has not ended"


def _all_done(place: Place, ids: list[UUID]) -> None:
    place.until(
        "select count(*) = cardinality(%(ids)s::uuid[]) from emq.archive"
        " where id = any(%(ids)s) and status = 'completed'".replace("%(ids)s", "%s"),
        ids, ids,
    )  # fmt: skip
    left = "select count(*) from emq.active where id = any(%s)"
    place.must(place.one(left, ids) == 0, "completed, and active")
    for id in ids:
        done = place.one("select count(*) from emq.archive where id = %s", id)
        place.must(done == 1, f"completed {done} times")


def _attempts(place: Place, id: UUID) -> int:
    return int(place.one("select fence >> 40 from emq.archive where id = %s", id))
