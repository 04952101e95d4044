"""pg_cron does the upkeep of a ledger: found, told, asked and let go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from emq_sql.errors import BadSetting, EmqError, NoPgCron
from emq_sql.protocol import connecting, pgcron, rights, steps
from emq_sql.protocol.adapt import committing
from emq_sql.upkeep import crontab
from emq_sql.upkeep.crontab import Kind, Wanted

USUAL_HOME = "postgres"
_OTHERWISE = "Workers do the upkeep by themselves, and so does `emq maintain`"


@dataclass(frozen=True, slots=True)
class Cron:
    """pg_cron, reached: its connection and version, and whose ledger it is asked about."""

    conn: psycopg.Connection[Any]
    version: str
    home: str  # the database that has the extension
    role: str  # whose jobs these are
    ledger: psycopg.Connection[Any]
    database: str  # the ledger's
    schema: str

    @property
    def names(self) -> dict[Kind, str]:
        """The names of the jobs of this ledger."""
        return crontab.names(self.database, self.schema)

    @property
    def mark(self) -> str:
        """How the commands of this ledger begin."""
        return crontab.mark(self.database, self.schema)


@dataclass(frozen=True, slots=True)
class Installed:
    """What became of one job."""

    job: str
    did: str  # new, changed, kept, removed
    schedule: str
    database: str
    role: str


@dataclass(frozen=True, slots=True)
class JobState:
    """One job as it is. `trouble` says what is not well; None when all is."""

    job: str
    schedule: str
    active: bool
    role: str
    database: str
    last_status: str | None
    last_start: datetime | None
    seconds_ago: float | None
    late_seconds: float
    message: str | None
    trouble: str | None
    command: str


@contextmanager
def reached(
    ledger: psycopg.Connection[Any], schema: str, cron_dsn: str | None = None
) -> Iterator[Cron]:
    """pg_cron of this ledger's cluster: in its database, or in the one where the server says it is.

    `cron_dsn` names that one when it cannot be known, or wants another role. Raises NoPgCron, which
    says why it is not to be had, and BadSetting for a DSN that is none.
    """
    database, _ = pgcron.whereabouts(ledger)
    with _connection(ledger, database, cron_dsn) as conn:
        home, role = pgcron.whereabouts(conn)
        version = pgcron.version(conn)
        if version is None:
            raise NoPgCron(
                f'pg_cron is not created in the database "{home}". {_OTHERWISE}.',
                hint=f'To use it: as a superuser, in "{home}": create extension pg_cron.',
            )
        crontab.parsed(version)
        yield Cron(conn, version, home, role, ledger, database, schema)


@contextmanager
def _connection(
    ledger: psycopg.Connection[Any], database: str, cron_dsn: str | None
) -> Iterator[psycopg.Connection[Any]]:
    if cron_dsn is None and pgcron.version(ledger) is not None:
        yield ledger
        return
    conn = _elsewhere(ledger, database) if cron_dsn is None else connecting.like(ledger, cron_dsn)
    try:
        yield conn
    finally:
        if conn is not ledger:
            conn.close()


def _elsewhere(ledger: psycopg.Connection[Any], database: str) -> psycopg.Connection[Any]:
    said = pgcron.home(ledger)
    if not said.loaded:
        raise NoPgCron(
            f"This server has no pg_cron loaded. {_OTHERWISE}.",
            hint="To use it: install its package, set shared_preload_libraries = 'pg_cron', restart"
            " the server, and create extension pg_cron.",
        )
    home = said.database or USUAL_HOME
    if home == database:
        return ledger
    try:
        return pgcron.elsewhere(ledger, home)
    except EmqError as error:
        guessed = "" if said.database else " (where it usually is; this role may not see where)"
        raise NoPgCron(
            f'pg_cron is at home in the database "{home}"{guessed}, which cannot be reached:'
            f" {error.what}",
            hint="Give --cron-dsn.",
        ) from error


def install(cron: Cron, every: int = crontab.EVERY, keep: int = crontab.KEEP) -> list[Installed]:
    """Let pg_cron do the upkeep from now on, all or nothing; again, and it is changed in place.

    The jobs belong to the role of the connection to pg_cron, or stay those of the role that has
    them. Raises BadSetting (numbers, missing rights, jobs of superusers refused), Refused for what
    pg_cron refuses, SchemaMissing, SchemaTooOld and SchemaTooNew.
    """
    steps.require_newest(cron.ledger, schema=cron.schema)
    jobs = crontab.wanted(cron.version, cron.database, cron.schema, every, keep)
    if pgcron.refuses_superusers(cron.conn):
        raise BadSetting(
            f'pg_cron runs no job of a superuser (cron.enable_superuser_jobs), and "{cron.role}" is'
            " one.",
            hint="Connect as the role that owns the ledger.",
        )
    with committing(cron.conn), cron.conn.transaction():
        there = pgcron.jobs(cron.conn, list(cron.names.values()))
        owners = {row["username"] for row in there} or {cron.role}
        for role in sorted(owners):
            _check_rights(cron, role, crontab.needed(jobs))
        done = [_settle(cron, job, [r for r in there if r["name"] == job.name]) for job in jobs]
        kept = {job.name for job in jobs}
        done += [_removed(cron, row) for row in there if row["name"] not in kept]
    return done


def _check_rights(cron: Cron, role: str, needed: Sequence[str]) -> None:
    _, forbidden = rights.missing(cron.ledger, cron.schema, needed, role)
    if forbidden:
        listed = ", ".join(f"{cron.schema}.{name}" for name in forbidden)
        raise BadSetting(
            f'The role "{role}", whose jobs these would be, may not execute {listed}.',
            hint="Grant it emq_operator (emq schema roles), or connect as the owner of the ledger.",
        )


def _settle(cron: Cron, job: Wanted, there: list[dict[str, Any]]) -> Installed:
    database = cron.database if job.in_ledger else cron.home
    usable = [row for row in there if row["database"] == database]
    mine = [row for row in usable if row["username"] == cron.role and row["active"]]
    others = [row for row in usable if row["username"] != cron.role]
    row = next(iter(mine + others), None)
    for each in there:
        if each is not row:
            pgcron.unschedule(cron.conn, each["jobid"])
    role = cron.role if row is None else row["username"]
    as_it_is = row is not None and row["active"] and (
        (row["schedule"], row["command"]) == (job.schedule, job.command)
    )  # fmt: skip
    if as_it_is:
        return Installed(job.name, "kept", job.schedule, database, role)
    if row is None or row["username"] == cron.role:
        elsewhere = None if database == cron.home else database
        pgcron.schedule(cron.conn, job.name, job.schedule, job.command, elsewhere)
    else:
        pgcron.alter(cron.conn, row["jobid"], job.schedule, job.command)
    return Installed(job.name, "changed" if there else "new", job.schedule, database, role)


def _removed(cron: Cron, row: dict[str, Any]) -> Installed:
    pgcron.unschedule(cron.conn, row["jobid"])
    return Installed(row["name"], "removed", row["schedule"], row["database"], row["username"])


def status(cron: Cron) -> list[JobState]:
    """Each job with its newest run; changes nothing, the next run neither."""
    with pgcron.looking(cron.conn):
        there = pgcron.jobs(cron.conn, list(cron.names.values()))
        newest = pgcron.last_runs(cron.conn, [row["jobid"] for row in there])
    return [_state(row, newest.get(row["jobid"])) for row in there]


def _state(row: dict[str, Any], run: dict[str, Any] | None) -> JobState:
    said = run or {}
    return JobState(
        job=row["name"],
        schedule=row["schedule"],
        active=row["active"],
        role=row["username"],
        database=row["database"],
        last_status=said.get("status"),
        last_start=said.get("start_time"),
        seconds_ago=said.get("seconds"),
        late_seconds=crontab.lateness(row, run) if run else 0.0,
        message=said.get("message"),
        trouble=crontab.trouble(row, run),
        command=row["command"],
    )


def runs_on_record(cron: Cron) -> int:
    """How many runs of this ledger's jobs, former ones too, are on record."""
    with pgcron.looking(cron.conn):
        there = pgcron.jobs(cron.conn, list(cron.names.values()))
        return pgcron.runs(cron.conn, [row["jobid"] for row in there], cron.mark)


def remove(cron: Cron) -> tuple[list[Installed], int]:
    """Take the jobs of this ledger away, and their runs from the record; of nobody else's any."""
    with committing(cron.conn), cron.conn.transaction():
        there = pgcron.jobs(cron.conn, list(cron.names.values()))
        done = [_removed(cron, row) for row in there]
        runs = pgcron.forget(cron.conn, [row["jobid"] for row in there], cron.mark)
    return done, runs
