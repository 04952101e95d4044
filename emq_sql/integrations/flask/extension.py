"""EMQ for Flask: one object in a module with the tasks, for however many applications."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Unpack
from uuid import UUID

import psycopg
from flask import Flask
from sqlalchemy.engine import Engine

from emq_sql.dead_letters import DeadLetters
from emq_sql.errors import BadSetting
from emq_sql.integrations.flask.commands import commands
from emq_sql.integrations.flask.ledgers import NAME, AppEMQ, ledger_here
from emq_sql.job import Enqueued, Reaped
from emq_sql.preparing import Prepared, PreparedBatch
from emq_sql.registering import Registry
from emq_sql.rules.settings import QueueSettings


class EMQ(Registry):
    """Tasks of Flask applications. Jobs go into the ledger of the current application.

    `EMQ(app)` is `EMQ()` and `init_app(app)`. Settings are those of `app.config`: EMQ_DSN (or, when
    it is not set, SQLALCHEMY_DATABASE_URI), EMQ_SCHEMA, EMQ_ENVIRONMENT, EMQ_LISTEN_DSN,
    EMQ_PAYLOAD_LIMIT, EMQ_BELL; they are read by `init_app`. All methods but `init_app` and `task`
    are those of `emq_sql.EMQ`, and raise BadSetting where no application is current.
    """

    def __init__(self, app: Flask | None = None) -> None:
        super().__init__(self)
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Give the application its ledger, `app.extensions["emq"]`, and `flask emq`.

        Connects to nothing. Raises BadSetting for settings that are none, and a second time.
        """
        if NAME in app.extensions:
            raise BadSetting(
                f"The application {app.name!r} has a ledger already.",
                hint="Call init_app once for each application.",
            )
        app.extensions[NAME] = AppEMQ(app, self)
        app.cli.add_command(commands)

    @property
    def current(self) -> AppEMQ:
        """The ledger of the current application, if it is of this EMQ; else raises BadSetting."""
        found = ledger_here()
        if found.registry is not self:
            raise BadSetting(
                f"The application {found.app.name!r} was given to another EMQ.",
                hint="Call init_app of the EMQ that has the task.",
            )
        return found

    @property
    def payload_limit(self) -> int:
        """The largest payload, in bytes of UTF-8."""
        return self.current.payload_limit

    @property
    def engine(self) -> Engine:
        """The engine of the ledger's database."""
        return self.current.engine

    @property
    def dead_letters(self) -> DeadLetters:
        """What is dead, and what is done with it."""
        return self.current.dead_letters

    def connection(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """A psycopg connection from the engine's pool, in autocommit."""
        return self.current.connection()

    def enqueue_many(
        self, jobs: Iterable[Prepared], *, session: object | None = None
    ) -> list[Enqueued]:
        """Add jobs of any tasks and queues, all or none; see `emq_sql.EMQ.enqueue_many`."""
        return self.current.enqueue_many(jobs, session=session)

    async def aenqueue_many(
        self, jobs: Iterable[Prepared], *, session: object | None = None
    ) -> list[Enqueued]:
        """`enqueue_many` for coroutines."""
        return await self.current.aenqueue_many(jobs, session=session)

    def enqueue_batch(self, batch: PreparedBatch, session: object | None) -> list[Enqueued]:
        """What a task's `enqueue_many` calls."""
        return self.current.enqueue_batch(batch, session)

    def ring(self, *queues: str) -> None:
        """Wake the workers that wait for jobs of these queues."""
        self.current.ring(*queues)

    def ledger(self, queue: str | None = None) -> list[dict[str, Any]]:
        """The in-flight list."""
        return self.current.ledger(queue)

    def queues(self) -> list[dict[str, Any]]:
        """Each queue with its counts and the age of the job that waits longest."""
        return self.current.queues()

    def place(self, job_id: UUID | str) -> dict[str, Any] | None:
        """Where a job is now, with its counts; None when the id is not known."""
        return self.current.place(job_id)

    def result(self, job_id: UUID | str) -> dict[str, Any] | None:
        """`finished_at` and `result` of a completed job; None when it has not completed."""
        return self.current.result(job_id)

    def pause(self, queue: str) -> None:
        """No worker claims a job of this queue until `resume`."""
        self.current.pause(queue)

    def resume(self, queue: str) -> None:
        """Workers claim jobs of this queue again."""
        self.current.resume(queue)

    def configure(
        self, queue: str, *, reset: Iterable[str] = (), **given: Unpack[QueueSettings]
    ) -> None:
        """Set what is given of a queue's settings."""
        self.current.configure(queue, reset=reset, **given)

    def reap(self, limit: int = 500) -> Reaped:
        """Take back expired leases now."""
        return self.current.reap(limit)
