"""cancel and release-worker: jobs given up, and jobs taken back from who holds them."""

from __future__ import annotations

import time

import click

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
from emq_sql.cli.output import show, show_one
from emq_sql.protocol import operating, reading
from emq_sql.rules import ids

_TRIES = 20  # while an open transaction has the job, five seconds in all
_PAUSE = 0.25
_CANCELLED = {"id": "job", "answer": "answer"}
_WOULD_BE = {"id": "job", "place": "is", "queue": "queue", "task": "task"}


@click.command()
@database_options
@label_option
@dry_run_option
@json_option
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@click.pass_context
def cancel(
    ctx: click.Context, dsn: str | None, schema: str, label: str | None, dry_run: bool,
    as_json: bool, jobs: tuple[str, ...],
) -> None:  # fmt: skip
    """Give up jobs that wait or run. From that moment on the holder of one can commit nothing.

    `done`, `lost` (it has ended, is dead, or was never there) or `busy` (an open transaction has
    it); the exit code is 1 unless all are done.
    """
    wanted = [ids.check(job) for job in jobs]
    with ledger_of(dsn, schema) as (conn, where):
        if dry_run:
            found = [reading.place(conn, where, job) for job in wanted]
            rows = [row or {"id": job} for row, job in zip(found, wanted, strict=True)]
            show(rows, _WOULD_BE, as_json=as_json)
            return
        answers = []
        for job in wanted:
            for left in reversed(range(_TRIES)):
                answer = operating.cancel(conn, where, job, label)
                if answer != "busy" or not left:
                    break
                time.sleep(_PAUSE)
            answers.append({"id": job, "answer": answer})
    show(answers, _CANCELLED, as_json=as_json)
    if any(row["answer"] != "done" for row in answers):
        ctx.exit(1)


@click.command("release-worker")
@database_options
@label_option
@dry_run_option
@limit_option
@json_option
@click.argument("worker")
@click.pass_context
def release_worker(
    ctx: click.Context, dsn: str | None, schema: str, label: str | None, dry_run: bool,
    limit: int, as_json: bool, worker: str,
) -> None:  # fmt: skip
    """Take back all jobs that WORKER holds, dead or alive; it can commit nothing for them.

    They go to the head of their level, and nothing is counted. The exit code is 1 when it holds
    some all the same: an open transaction has them, or it has claimed them since.
    """
    with ledger_of(dsn, schema) as (conn, where):
        if dry_run:
            held = reading.held_by(conn, where, worker)
            show_one({"worker": worker, "would_release": held}, as_json=as_json)
            return
        busy, full = 0, True
        with Batches("released") as batches:
            while full and not batches.stopped:
                released, busy = operating.release_worker(conn, where, worker, limit, label)
                batches.add(released)
                full = released == limit
    show_one({"worker": worker, "released": batches.done, "busy": busy}, as_json=as_json)
    if full:
        ctx.exit(INTERRUPTED)
    if busy:
        ctx.exit(1)
