"""Whether lost leases are taken back, and whose work that should be here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg

from emq_sql.errors import EmqError, NoPgCron
from emq_sql.protocol import reading
from emq_sql.upkeep import cron, crontab
from emq_sql.upkeep.cron import JobState
from emq_sql.upkeep.finding import Finding, State

INTERVAL = timedelta(seconds=5)  # between reaps, where nothing says otherwise
_LATE = timedelta(seconds=30)
_SEEN_SECONDS = 60
_MOST_RUNS = 10_000  # a record that is pruned has a thousand, and those of an hour

_START = "Start a worker or `emq maintain`, or let pg_cron do it (emq cron install)."


@dataclass(frozen=True, slots=True)
class Looked:
    """What pg_cron says: its jobs for this ledger and the runs on record, or why there is none."""

    jobs: tuple[JobState, ...] = ()
    runs: int = 0
    why_not: str = ""

    @property
    def troubles(self) -> list[str]:
        """What is not well with its jobs."""
        return [f"{job.job}: {job.trouble}" for job in self.jobs if job.trouble]

    @property
    def interval(self) -> timedelta | None:
        """Between two passes that it makes."""
        found = [
            seconds
            for job in self.jobs
            if job.job.endswith(":maintain")
            and (seconds := crontab.reap_interval(job.schedule, job.command)) is not None
        ]
        return timedelta(seconds=found[0]) if found else None


def examine(
    conn: psycopg.Connection[Any], schema: str, cron_dsn: str | None = None,
    interval: timedelta | None = None,
) -> Iterator[Finding]:  # fmt: skip
    """Who reaps, when that was last, and what is stuck; reads only.

    `interval` is that between two reaps: what pg_cron is told where it does this alone, else 5
    seconds. A lease that expired more than two of them ago is stuck, which is bad.
    """
    seen = [w for w in reading.workers(conn, schema) if w["seen_seconds"] < _SEEN_SECONDS]
    yield Finding("workers", "ok", f"{len(seen)} seen in the last minute")
    looked = look(conn, schema, cron_dsn)
    yield _pg_cron(looked)
    usual = interval or (None if seen else looked.interval) or INTERVAL
    advice = _advice(len(seen), looked)
    yield _last_reap(conn, schema, max(_LATE, 2 * usual), advice)
    yield _stuck(conn, schema, 2 * usual, advice)


def look(conn: psycopg.Connection[Any], schema: str, cron_dsn: str | None) -> Looked:
    """What pg_cron says, if it is there and this role may ask it; never raises for its sake."""
    try:
        with cron.reached(conn, schema, cron_dsn) as found:
            return Looked(tuple(cron.status(found)), cron.runs_on_record(found))
    except NoPgCron as error:
        return Looked(why_not=error.what)
    except EmqError as error:
        return Looked(why_not=f"it cannot be asked: {error.what}")


def _pg_cron(looked: Looked) -> Finding:
    if looked.why_not:
        return Finding("pg_cron", "ok", f"not used: {looked.why_not}")
    record = f"{looked.runs} runs on record"
    if not looked.jobs:
        return Finding("pg_cron", "ok", f"has no job for this ledger, {record}")
    if looked.troubles:
        return Finding("pg_cron", "warn", "; ".join(looked.troubles), "Look: emq cron status.")
    if looked.runs > _MOST_RUNS:
        return Finding("pg_cron", "warn", record, "Let them be pruned: emq cron install.")
    return Finding("pg_cron", "ok", f"{len(looked.jobs)} jobs, {record}")


def _advice(workers: int, looked: Looked) -> str:
    """Who was to do it, and why that is not enough."""
    said = []
    if workers:
        said.append(
            f"Workers should, {workers} seen in the last minute: their logs say why they do not"
            " (upkeep waits for the database)."
        )
    if looked.jobs:
        why = "; ".join(looked.troubles) or "its jobs say that all is well"
        said.append(f"pg_cron should: {why}. Look: emq cron status.")
    if not said:
        said.append(f"Nobody is there to do it. {_START}")
    return " ".join(said)


def _last_reap(
    conn: psycopg.Connection[Any], schema: str, late_after: timedelta, advice: str
) -> Finding:
    expired = sum(queue["expired"] for queue in reading.depth(conn, schema))
    last = reading.last_reap(conn, schema)
    if last is None:
        return Finding("last reap", "warn" if not expired else "bad", "never", advice)
    age = float(last["age_seconds"])
    late = age > late_after.total_seconds()
    found = f"{age:.0f} s ago by {last['who']}, {expired} leases are expired now"
    state: State = "bad" if late and expired else "warn" if late else "ok"
    return Finding("last reap", state, found, advice if late else "")


def _stuck(conn: psycopg.Connection[Any], schema: str, older: timedelta, advice: str) -> Finding:
    count = reading.stuck(conn, schema, older)
    found = f"{count} leases expired more than {older.total_seconds():g} s ago"
    if not count:
        return Finding("stuck", "ok", found)
    guarded = "An open transaction may hold their rows (pg_stat_activity says whose)."
    return Finding("stuck", "bad", found, f"{advice} {guarded}")
