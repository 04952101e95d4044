"""drain and obliterate: a queue loses what waits in it, or everything."""

from __future__ import annotations

import time
from typing import Any

import click
import psycopg

from emq_sql.cli.batches import Batches
from emq_sql.cli.context import (
    INTERRUPTED,
    database_options,
    dry_run_option,
    json_option,
    label_option,
    ledger_of,
    limit_option,
)
from emq_sql.cli.output import show_one
from emq_sql.errors import BadSetting
from emq_sql.protocol import operating, reading
from emq_sql.rules import names

_GOES_ON = ("more", "busy")
_PAUSE = 0.2  # seconds, while retention is at work
_FATES = {"active": "refused: jobs run", "left": "not all: begin again"}


@click.command()
@database_options
@click.option("--scheduled", is_flag=True, help="Also those that wait for an instant.")
@label_option
@dry_run_option
@limit_option
@json_option
@click.argument("queue")
@click.pass_context
def drain(
    ctx: click.Context, dsn: str | None, schema: str, scheduled: bool, label: str | None,
    dry_run: bool, limit: int, as_json: bool, queue: str,
) -> None:  # fmt: skip
    """Cancel all jobs that wait in QUEUE; those that run go on."""
    names.queue_name(queue)
    with ledger_of(dsn, schema) as (conn, where):
        if dry_run:
            waits = _waiting(conn, where, queue, scheduled=scheduled)
            show_one({"queue": queue, "would_cancel": waits}, as_json=as_json)
            return
        after: operating.Place | None = None
        with Batches("cancelled") as batches:
            while not batches.stopped:
                batch = operating.drain(
                    conn, where, queue, limit, scheduled=scheduled, after=after, label=label
                )
                batches.add(batch.cancelled)
                after = batch.next
                if after is None:
                    break
    show_one({"queue": queue, "cancelled": batches.done}, as_json=as_json)
    if after is not None:
        ctx.exit(INTERRUPTED)


@click.command()
@database_options
@click.option("--confirm", metavar="NAME", help="The queue's name once more, for scripts.")
@click.option("--force", is_flag=True, help="End the runs of its jobs, instead of refusing.")
@label_option
@dry_run_option
@limit_option
@json_option
@click.argument("queue")
@click.pass_context
def obliterate(
    ctx: click.Context, dsn: str | None, schema: str, confirm: str | None, force: bool,
    label: str | None, dry_run: bool, limit: int, as_json: bool, queue: str,
) -> None:  # fmt: skip
    """Take everything of QUEUE away for good: jobs, dead letters, history and settings.

    The queue is paused first. While jobs of it run, nothing is taken, unless --force ends them.
    Interrupted or refused, it may be called again.
    """
    names.queue_name(queue)
    with ledger_of(dsn, schema) as (conn, where):
        if not dry_run:
            _confirmed(queue, confirm)
        last = operating.Obliterated("more", 0, None, None)
        with Batches("would go" if dry_run else "gone") as batches:
            while last.status in _GOES_ON and not batches.stopped:
                if last.status == "busy":
                    time.sleep(_PAUSE)
                last = operating.obliterate(
                    conn, where, queue, queue, limit, after=last.next, force=force,
                    dry_run=dry_run, label=label,
                )  # fmt: skip
                batches.add(last.erased)
    told = {"queue": queue, "would_erase" if dry_run else "erased": batches.done}
    if last.status in _FATES:
        told |= {"ended": _FATES[last.status], "remaining": last.remaining or 0}
    show_one(told, as_json=as_json)
    if last.status in _GOES_ON:
        ctx.exit(INTERRUPTED)
    if last.status != "done":
        ctx.exit(1)


def _waiting(conn: psycopg.Connection[Any], schema: str, queue: str, *, scheduled: bool) -> int:
    row = next((row for row in reading.depth(conn, schema) if row["queue"] == queue), None)
    if row is None:
        return 0
    return int(row["pending"]) + (int(row["scheduled"]) if scheduled else 0)


def _confirmed(queue: str, given: str | None) -> None:
    if given is None:
        question = f"Everything of the queue {queue} will be gone. Its name, to confirm"
        given = click.prompt(question, err=True)
    if given != queue:
        raise BadSetting(
            f"{names.shown(given)} is not the name of the queue.", hint="Nothing was done."
        )
