"""EMQ: an application's door to its ledger: its database, its tasks, and how jobs are added."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Unpack
from uuid import UUID

import psycopg
from sqlalchemy.engine import URL, Engine

from emq_sql.dead_letters import DeadLetters
from emq_sql.doorbell import Doorbell
from emq_sql.effects.guards import own_commits
from emq_sql.errors import Ambiguous, BadSetting, Retryable
from emq_sql.job import Enqueued, NewJob, Reaped
from emq_sql.preparing import Prepared, PreparedBatch
from emq_sql.protocol import (
    adapt,
    bridging,
    connecting,
    enqueueing,
    reading,
    settings,
    troubles,
    upkeep,
)
from emq_sql.registering import Registry
from emq_sql.rules import ids, names
from emq_sql.rules.payload import PAYLOAD_LIMIT
from emq_sql.rules.settings import QueueSettings
from emq_sql.rules.settings import checked as checked_settings

_TRIES = 4
_LARGEST_LIMIT = 64 * 1024 * 1024


class EMQ(Registry):
    """One ledger and the tasks that run on it.

    `database` is a URL, a libpq DSN or an Engine on psycopg 3; left out, it is EMQ_DSN when first
    needed. Nothing connects until something is asked. `schema` is where the ledger lives.
    `environment` must equal the database's tag, if it has one, before a worker runs anything.
    `listen_dsn` is where workers listen, when `database` goes through a transaction pooler; left
    out, it is EMQ_LISTEN_DSN, and then `database`. With `bell=False` nothing here rings or listens,
    and jobs are found by polling.
    """

    def __init__(
        self,
        database: str | URL | Engine | None = None,
        *,
        schema: str = "emq",
        environment: str | None = None,
        payload_limit: int = PAYLOAD_LIMIT,
        listen_dsn: str | URL | Engine | None = None,
        bell: bool = True,
    ) -> None:
        super().__init__(self)
        self.schema = names.schema_name(schema)
        self.environment = environment
        self.bell = bell
        self._listen = None if listen_dsn is None else connecting.engine_for(listen_dsn)
        self._doorbell = Doorbell(lambda: self.engine, self.schema)
        self._payload_limit = _checked_limit(payload_limit)
        self._engine = None if database is None else connecting.engine_for(database)
        self.dead_letters = DeadLetters(self.connection, self.schema, rings=bell)

    @property
    def engine(self) -> Engine:
        """The engine of the ledger's database; raises BadSetting when none is set anywhere."""
        if self._engine is None:
            dsn = os.environ.get("EMQ_DSN")
            if not dsn:
                raise BadSetting(
                    "No database is set.", hint='Give EMQ("postgresql://...") or set EMQ_DSN.'
                )
            self._engine = connecting.engine_for(dsn)
        return self._engine

    @property
    def listen_engine(self) -> Engine:
        """The engine of the connections that listen: the ledger's database, without a pooler."""
        if self._listen is None and (dsn := os.environ.get("EMQ_LISTEN_DSN")):
            self._listen = connecting.engine_for(dsn)
        return self._listen or self.engine

    @property
    def payload_limit(self) -> int:
        """The largest payload, in bytes of UTF-8."""
        return self._payload_limit

    def enqueue_many(
        self, jobs: Iterable[Prepared], *, session: object | None = None
    ) -> list[Enqueued]:
        """Add jobs of any tasks and queues, all or none; answers in the order given.

        With `session` they join its transaction, which is left open and alone (in autocommit they
        are one transaction). Without, they are committed when this returns; a lost connection is
        retried under the same ids. An id twice is a `duplicate` the second time. In a run of a job
        that is lost nothing is committed: LeaseLost is raised.
        """
        jobs = _checked_jobs(jobs)
        if session is not None:
            conn = bridging.driver_connection(session)
            own = adapt.commits_by_itself(conn)
            with own_commits(conn, own=own) as alone:
                answers = self._add(conn, jobs, own=alone)
            self._tell(jobs, answers, None if own else session)
            return answers
        return self._committed(jobs, _TRIES)

    async def aenqueue_many(
        self, jobs: Iterable[Prepared], *, session: object | None = None
    ) -> list[Enqueued]:
        """`enqueue_many` for coroutines, as `Using.aenqueue` is `enqueue` for them."""
        return await bridging.waited(session, lambda plain: self.enqueue_many(jobs, session=plain))

    def enqueue_batch(self, given: PreparedBatch, session: object | None) -> list[Enqueued]:
        """What `enqueue_many` does, for jobs of one task that are due at once.

        Their ids were just minted, so where that answers `duplicate` this raises IdTaken.
        """
        own, batch = False, given.batch
        if session is not None:
            conn = bridging.driver_connection(session)
            own = adapt.commits_by_itself(conn)
            with own_commits(conn, own=own) as alone:
                enqueueing.enqueue_batch(conn, self.schema, batch, own=alone)
        else:
            try:
                with self.connection() as conn, own_commits(conn, own=True) as alone:
                    enqueueing.enqueue_batch(conn, self.schema, batch, own=alone)
            except (Ambiguous, Retryable):  # the jobs may be there: one by one, each says so
                _pause(1)
                return self._committed(given.one_by_one(), _TRIES - 1)
        if self.bell:
            self._doorbell.added({batch.queue}, None if own else session)
        return [Enqueued(id, "enqueued") for id in batch.ids]

    def _committed(self, jobs: list[Prepared], tries: int) -> list[Enqueued]:
        """With fewer tries than there are, there was one whose reply was lost."""
        for left in reversed(range(tries)):
            try:
                with self.connection() as conn, own_commits(conn, own=True) as alone:
                    answers = self._add(conn, jobs, own=alone)
            except (Ambiguous, Retryable):
                if not left:
                    raise
                _pause(_TRIES - left)
            else:
                if left < _TRIES - 1:
                    answers = list(map(_as_first_told, jobs, answers))
                self._tell(jobs, answers, None)
                return answers
        raise AssertionError("unreachable")

    def _add(
        self, conn: psycopg.Connection[Any], jobs: Sequence[Prepared], *, own: bool
    ) -> list[Enqueued]:
        """`own` says that what is done here is committed here."""
        if len(jobs) == 1:
            return [enqueueing.enqueue(conn, self.schema, jobs[0].queue, jobs[0].job, own=own)]
        # The first of an id is the job, and the queues go in the order of their names: two calls
        # that have ids in common then wait for each other in one direction only.
        first = {prepared.job.id: n for n, prepared in reversed(list(enumerate(jobs)))}
        by_queue: dict[str, list[int]] = {}
        for n in sorted(first.values(), key=lambda n: (jobs[n].queue, n)):
            by_queue.setdefault(jobs[n].queue, []).append(n)
        answers = [Enqueued(prepared.job.id, "duplicate") for prepared in jobs]
        with troubles.named(own_transaction=own), ExitStack() as stack:
            if own and len(by_queue) > 1:
                stack.enter_context(conn.transaction())
            for queue, places in by_queue.items():
                some: list[NewJob] = [jobs[n].job for n in places]
                added = enqueueing.enqueue_many(conn, self.schema, queue, some, own=own)
                for n, answer in zip(places, added, strict=True):
                    answers[n] = answer
        return answers

    def ring(self, *queues: str) -> None:
        """Wake the workers that wait for jobs of these queues: soon, from another thread.

        For jobs added in a transaction that emq_sql cannot see the end of (a psycopg connection of
        yours): call it after the commit. Without it they are found by polling. A hint: it never
        fails because of the database. Raises BadName.
        """
        self._doorbell.ring([names.queue_name(queue) for queue in queues])

    def flush_rings(self, seconds: float = 0.5) -> bool:
        """Wait until what was enqueued has been rung for, at most so long; whether it has.

        For a process that ends without Python's own end (`os._exit`), which waits as long.
        """
        return self._doorbell.flush(seconds)

    def _tell(self, jobs: Sequence[Prepared], answers: Sequence[Enqueued], session: object) -> None:
        if self.bell:
            added = zip(jobs, answers, strict=True)
            queues = {job.queue for job, answer in added if answer.status == "enqueued"}
            self._doorbell.added(queues, session)

    def connection(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """A psycopg connection from the engine's pool, in autocommit."""
        return connecting.borrowed(self.engine)

    def connect(self) -> psycopg.Connection[Any]:
        """A new psycopg connection in autocommit, of one's own: for workers."""
        return connecting.dedicated(self.engine)

    def ledger(self, queue: str | None = None) -> list[dict[str, Any]]:
        """The in-flight list: holder, attempt, seconds left by the server's clock."""
        queue = None if queue is None else names.queue_name(queue)
        with self.connection() as conn:
            return reading.ledger(conn, self.schema, queue)

    def queues(self) -> list[dict[str, Any]]:
        """Each queue with its counts and the age of the job that waits longest."""
        with self.connection() as conn:
            return reading.depth(conn, self.schema)

    def place(self, job_id: UUID | str) -> dict[str, Any] | None:
        """Where a job is now, with its counts; None when the id is not known."""
        with self.connection() as conn:
            return reading.place(conn, self.schema, ids.check(job_id))

    def result(self, job_id: UUID | str) -> dict[str, Any] | None:
        """`finished_at` and `result` of a completed job; None when it has not completed."""
        with self.connection() as conn:
            return reading.result(conn, self.schema, ids.check(job_id))

    def pause(self, queue: str) -> None:
        """No worker claims a job of this queue until `resume`; running jobs go on."""
        with self.connection() as conn:
            upkeep.pause(conn, self.schema, names.queue_name(queue))

    def resume(self, queue: str) -> None:
        """Workers claim jobs of this queue again."""
        with self.connection() as conn:
            upkeep.resume(conn, self.schema, names.queue_name(queue))
        if self.bell:
            self._doorbell.ring([queue])

    def configure(
        self, queue: str, *, reset: Iterable[str] = (), **given: Unpack[QueueSettings]
    ) -> None:
        """Set what is given of a queue's settings; those named in `reset` get their defaults back.

        Durations are seconds or timedelta. Jobs that run keep what they have. Raises BadInput.
        """
        name, written = names.queue_name(queue), checked_settings(given, reset)
        with self.connection() as conn:
            settings.set_queue(conn, self.schema, name, written)

    def reap(self, limit: int = 500) -> Reaped:
        """Take back expired leases now; workers do it by themselves about once a second."""
        with self.connection() as conn:
            return upkeep.reap(conn, self.schema, limit)


def _pause(tried: int) -> None:
    time.sleep(random.uniform(0.01, 0.2 * tried))  # noqa: S311


def _as_first_told(prepared: Prepared, answer: Enqueued) -> Enqueued:
    """The answer that a lost reply carried: a duplicate of an id just minted is the job itself."""
    job = prepared.job
    if not (prepared.minted and answer.duplicate and answer.id == job.id):
        return answer
    later = job.delay or (job.run_at and job.run_at > (ids.id_time(job.id) or job.run_at))
    return Enqueued(answer.id, "scheduled" if later else "enqueued")


def _checked_jobs(jobs: Iterable[Prepared]) -> list[Prepared]:
    rows = list(jobs)
    for n, job in enumerate(rows):
        if not isinstance(job, Prepared):
            raise BadSetting(
                f"Job {n} of {len(rows)} is of type {type(job).__name__}.",
                hint="Make each ready with task.job(...), or task.using(...).job(...).",
            )
        if job.job.unless_waiting and len(rows) > 1:
            raise BadSetting(
                f"Job {n} of {len(rows)} is to be added unless one waits.",
                hint="Enqueue it by itself.",
            )
    return rows


def _checked_limit(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 2 <= value <= _LARGEST_LIMIT:
        return value
    raise BadSetting(
        f"payload_limit {names.shown(value)} is none.", hint="Give bytes, at most 64 MiB."
    )
