"""enqueue, reap, pause and resume: what an operator does to a ledger."""

from __future__ import annotations

import json
from contextlib import suppress

import click

from emq_sql.cli.context import database_options, json_option, ledger_of
from emq_sql.cli.output import show_one
from emq_sql.errors import Ambiguous, BadPayload, EmqError
from emq_sql.job import NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import bell, enqueueing, upkeep
from emq_sql.protocol.bounded import BoundedConnection
from emq_sql.rules import ids, names, payload
from emq_sql.rules.durations import duration
from emq_sql.tasks import checked_budget, checked_lease, checked_priority

_RING = 5.0  # seconds; a hint that comes later is worth nothing
_EXAMPLE = "Write for example '{\"order_id\": 42}'."


@click.command()
@database_options
@json_option
@click.option("--queue", default="default", show_default=True)
@click.option("--delay", type=float, help="Seconds on the server's clock.")
@click.option("--priority", type=int, default=2, show_default=True, help="0 (first) to 4 (last).")
@click.option("--job-id", help="A UUIDv7; enqueuing it again is a duplicate.")
@click.option("--max-attempts", type=int)
@click.option("--lease", type=float, help="Seconds that a worker may be silent.")
@click.argument("task")
@click.argument("arguments", default="{}")
def enqueue(
    dsn: str | None, schema: str, as_json: bool, queue: str, delay: float | None, priority: int,
    job_id: str | None, max_attempts: int | None, lease: float | None, task: str, arguments: str,
) -> None:  # fmt: skip
    """Add one job. ARGUMENTS is a JSON object of the task's keyword arguments."""
    try:
        given = json.loads(arguments)
    except ValueError as error:
        raise BadPayload(f"ARGUMENTS is not JSON: {error}.", hint=_EXAMPLE) from None
    except RecursionError:
        raise BadPayload("ARGUMENTS is nested too deep.", hint="Flatten the data.") from None
    args, kwargs = payload.decode(given)
    new = NewJob(
        task=names.task_name(task),
        payload=payload.encode(args, kwargs),
        id=new_id() if job_id is None else ids.check(job_id),
        priority=checked_priority(priority),
        delay=None if delay is None else duration(delay, "--delay", allow_zero=True),
        max_attempts=None if max_attempts is None else checked_budget(max_attempts),
        lease=None if lease is None else checked_lease(lease),
    )
    with ledger_of(dsn, schema) as (conn, where):
        try:
            answer = enqueueing.enqueue(conn, where, names.queue_name(queue), new, own=True)
        except Ambiguous as error:
            hint = f"Repeat it with --job-id {new.id}: it is added once."
            raise Ambiguous(error.what, hint=hint) from error.__cause__
        if answer.status == "enqueued":
            _ring(conn, where, queue)
    show_one({"id": answer.id, "status": answer.status}, as_json=as_json)


@click.command()
@database_options
@json_option
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=500, show_default=True,
    help="Rows of one pass.",
)  # fmt: skip
def reap(dsn: str | None, schema: str, as_json: bool, limit: int) -> None:
    """Take back every expired lease now, pass by pass until none is left."""
    total = {"recovered": 0, "dead": 0, "skipped": 0}
    with ledger_of(dsn, schema) as (conn, where):
        while True:
            found = upkeep.reap(conn, where, limit)
            total["recovered"] += found.recovered
            total["dead"] += found.dead
            total["skipped"] = found.skipped
            if found.recovered + found.dead < limit:
                break
    show_one(total, as_json=as_json)


@click.command()
@database_options
@click.option("--label", help="What the audit says of why or whence.")
@json_option
@click.argument("queue")
def pause(dsn: str | None, schema: str, label: str | None, as_json: bool, queue: str) -> None:
    """No worker claims a job of QUEUE until it is resumed; running jobs go on."""
    with ledger_of(dsn, schema) as (conn, where):
        upkeep.pause(conn, where, names.queue_name(queue), label)
    show_one({"queue": queue, "paused": True}, as_json=as_json)


@click.command()
@database_options
@click.option("--label", help="What the audit says of why or whence.")
@json_option
@click.argument("queue")
def resume(dsn: str | None, schema: str, label: str | None, as_json: bool, queue: str) -> None:
    """Workers claim jobs of QUEUE again."""
    with ledger_of(dsn, schema) as (conn, where):
        upkeep.resume(conn, where, names.queue_name(queue), label)
        _ring(conn, where, queue)
    show_one({"queue": queue, "paused": False}, as_json=as_json)


def _ring(conn: BoundedConnection, schema: str, queue: str) -> None:
    """Wake who waits; what was done is done, whether that is heard or not."""
    with suppress(EmqError), conn.within(min(conn.limit, _RING)):
        bell.ring_parked(conn, schema, [queue])
