"""ledger, queues and job: the in-flight list, the depths, and one job's whole story."""

from __future__ import annotations

import time
from contextlib import suppress
from uuid import UUID

import click
import psycopg

from emq_sql.cli.context import database_options, json_option, ledger_of
from emq_sql.cli.output import cell, show, show_one, table
from emq_sql.errors import BadJobId, Refused
from emq_sql.protocol import reading
from emq_sql.protocol.bounded import BoundedConnection
from emq_sql.protocol.rows import Row
from emq_sql.rules import ids, names
from emq_sql.rules.durations import duration

LEDGER = {
    "id": "job", "queue": "queue", "task": "task", "worker": "held by", "attempts": "attempt",
    "running_seconds": "runs s", "seconds_left": "left s", "extensions": "extended",
    "lease_state": "lease",
}  # fmt: skip
DEPTH = {
    "queue": "queue", "paused": "paused", "pending": "pending", "scheduled": "scheduled",
    "active": "active", "expired": "expired", "dead": "dead", "oldest_seconds": "oldest s",
}  # fmt: skip
STORY = {
    "at": "at", "event": "event", "attempts": "attempt", "worker": "worker", "detail": "detail",
}  # fmt: skip


@click.command()
@database_options
@json_option
@click.option("--queue", help="Of this queue only.")
@click.option("--watch", is_flag=True, help="Print it again every second until interrupted.")
@click.option("--every", default=1.0, show_default=True, help="Seconds between two looks.")
def ledger(
    dsn: str | None, schema: str, as_json: bool, queue: str | None, watch: bool, every: float
) -> None:
    """The in-flight list: which worker holds which job, and for how long still."""
    wanted = None if queue is None else names.queue_name(queue)
    pause = duration(every, "--every").total_seconds()
    with ledger_of(dsn, schema) as (conn, where), suppress(KeyboardInterrupt):
        while True:
            rows = reading.ledger(conn, where, wanted)
            if watch and not as_json:
                click.clear()
                click.echo(f"{len(rows)} in flight, {time.strftime('%H:%M:%S')}")
            show(rows, LEDGER, as_json=as_json)
            if not watch:
                return
            time.sleep(pause)


@click.command()
@database_options
@json_option
def queues(dsn: str | None, schema: str, as_json: bool) -> None:
    """Each queue: what waits, runs and died in it, and how long its oldest job waits."""
    with ledger_of(dsn, schema) as (conn, where):
        show(reading.depth(conn, where), DEPTH, as_json=as_json)


@click.command()
@database_options
@json_option
@click.option("--payload", is_flag=True, help="With its arguments, as they were enqueued.")
@click.argument("job_id")
def job(dsn: str | None, schema: str, as_json: bool, payload: bool, job_id: str) -> None:
    """Where a job is, and its whole story; of one past its retention, what is left of it."""
    with ledger_of(dsn, schema) as (conn, where):
        wanted = ids.check(job_id)
        place = reading.place(conn, where, wanted)
        story = _story(conn, where, wanted)
        if place is None:
            if not story:
                raise BadJobId(
                    f"No job {wanted} is known here.",
                    hint="It was never committed, or all of it is past retention.",
                )
            place = {"id": wanted, "place": "retired"}
        envelope = reading.envelope(conn, where, wanted) if payload else None
        if as_json:
            whole = {**place, "story": story} | ({"envelope": envelope} if envelope else {})
            show_one(whole, as_json=True)
            return
        show_one(place, as_json=False)
        if envelope:
            click.echo(f"\n{'payload':<12} {cell(envelope['payload'])}")
        if story is not None:
            click.echo("\n" + "\n".join(table(story, STORY)))


def _story(conn: BoundedConnection, schema: str, job: UUID) -> list[Row] | None:
    try:
        return reading.story(conn, schema, job)
    except Refused as error:
        if not isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
            raise
        told = "emq: its story is for emq_operator and the owner of the ledger."
        click.echo(told, err=True)
        return None
