"""Servers with pg_cron, ledgers in their databases, and workers that are killed there."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from emq_sql.embedded import Server, start
from emq_sql.protocol import steps
from tests.cli.conftest import Emq
from tests.faults.processes import Field
from tests.plugins.databases import url

HOME = "postgres"  # the database that has pg_cron
OPTIONS = {"shared_preload_libraries": "pg_cron", "cron.database_name": HOME}
PATIENCE = 100.0  # seconds: a job of pg_cron begins with a minute


@dataclass
class Cluster:
    """A server with pg_cron."""

    server: Server
    opened: ExitStack

    def dsn(self, database: str = HOME, role: str = "postgres") -> str:
        return url(self.server.dsn, database).replace("postgres@", f"{role}@", 1)

    def emq(self, database: str, role: str = "postgres") -> Emq:
        """The command for the ledger there, as that role."""
        return Emq(self.dsn(database, role))

    def run(self, statement: str, *params: Any) -> list[tuple[Any, ...]]:
        """By a superuser, in the database of pg_cron."""
        with psycopg.connect(self.dsn(), autocommit=True) as conn:
            done = conn.execute(statement.encode(), params)
            return done.fetchall() if done.description else []

    def one(self, query: str, *params: Any) -> Any:
        return self.run(query, *params)[0][0]

    def jobs(self, database: str) -> dict[str, tuple[Any, ...]]:
        """The jobs of the ledger there by kind: id, schedule, command, database, role."""
        found = self.run(
            "select jobname::text, jobid, schedule, command, database, username from cron.job"
            " where starts_with(jobname::text, %s)", f"emq:{database}:emq:",
        )  # fmt: skip
        assert len({name for name, *_ in found}) == len(found)
        return {name.rpartition(":")[2]: tuple(rest) for name, *rest in found}

    def runs(self, job: int) -> list[tuple[Any, ...]]:
        """Status and message of each run of a job on record."""
        query = "select status, return_message from cron.job_run_details where jobid = %s"
        return self.run(query, job)


@dataclass
class Place:
    """A ledger in a database of a cluster."""

    cluster: Cluster
    database: str
    role: str
    field: Field

    @property
    def emq(self) -> Emq:
        return self.cluster.emq(self.database, self.role)

    @property
    def jobs(self) -> dict[str, tuple[Any, ...]]:
        return self.cluster.jobs(self.database)

    def abandon(self) -> UUID:
        """A worker takes a job and is killed; no process of emq_sql stays alive."""
        (job,) = self.field.enqueue("hold")
        worker = self.field.start(lease=1.0)
        self.field.until_started(1)
        worker.send(signal.SIGKILL)
        worker.wait()
        self.field.until(
            "select not exists (select from pg_stat_activity"
            " where datname = current_database() and application_name like 'emq %%')"
        )
        return job

    def install(self, *options: str) -> list[dict[str, str]]:
        """emq cron install; what it says of each job."""
        done: list[dict[str, str]] = self.emq("cron", "install", "--json", *options).json
        return done


@contextmanager
def cluster(**more: str) -> Iterator[Cluster]:
    """One whose jobs reach it by its socket, where they go through libpq as by default."""
    with start(options=OPTIONS | more) as server, ExitStack() as opened:
        made = Cluster(server, opened)
        socket = sql.Literal(str(server.directory)).as_string()
        made.run(f'alter system set "cron.host" = {socket}')
        server.restart()
        yield made


def ledger(where: Cluster, database: str, folder: Path, role: str = "postgres") -> Place:
    """A ledger in that database, which is made if it is not there, and its owner too."""
    if not where.run("select 1 from pg_roles where rolname = %s", role):
        where.run(f"create role {role} login")
    if not where.run("select 1 from pg_database where datname = %s", database):
        name = sql.Identifier(database).as_string()
        where.run(f"create database {name.replace('%', '%%')} owner {role}")
    conn = psycopg.connect(where.dsn(database, role), autocommit=True)
    where.opened.enter_context(conn)
    steps.upgrade(conn)
    folder.mkdir()
    field = Field(where.dsn(database, role), folder, conn)
    where.opened.callback(field.close)
    return Place(where, database, role, field)


def found(said: str, subject: str) -> dict[str, str]:
    """What the doctor said of it."""
    (one,) = [each for each in json.loads(said) if each["subject"] == subject]
    return dict(one)


def until(true: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.1)
