"""cancel and release-worker: jobs given up, and jobs taken back from who holds them."""

from __future__ import annotations

from dataclasses import asdict

import click

from emq_sql.cli.batches import Batches
from emq_sql.cli.cancelling import end, told
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

_CANCELLED = {"id": "job", "answer": "answer", "was": "was", "worker": "worker", "told": "told"}
_WOULD_BE = {"id": "job", "place": "is", "queue": "queue", "task": "task", "worker": "worker"}


@click.command()
@database_options
@label_option
@dry_run_option
@json_option
@click.option("--sql", "stop", is_flag=True, help="Also cancel the SQL that its handler runs.")
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@click.pass_context
def cancel(
    ctx: click.Context, dsn: str | None, schema: str, label: str | None, dry_run: bool,
    as_json: bool, stop: bool, jobs: tuple[str, ...],
) -> None:  # fmt: skip
    """Give up jobs that wait or run. From that moment on the holder of one can commit nothing.

    `done`, `lost` (it has ended, is dead, or was never there) or `busy` (an open transaction has
    it); the exit code is 1 unless all are done. A running job's worker is rung for, and `told` says
    whether it knows by now; else it learns it with its next extension, a third of the lease later
    at most. The handler is told to stop, its coroutine cancelled, its child process killed 5 s
    later.

    With --sql its worker also cancels the statement that the handler runs, on a direct connection
    of SQLAlchemy; also that of a job that is busy, whose transaction ends with it.
    """
    wanted = [ids.check(job) for job in jobs]
    with ledger_of(dsn, schema) as (conn, where):
        if dry_run:
            found = [reading.place(conn, where, job) for job in wanted]
            rows = [row or {"id": job} for row, job in zip(found, wanted, strict=True)]
            show(rows, _WOULD_BE, as_json=as_json)
            return
        ends = [end(conn, where, job, label, stop=stop) for job in wanted]
        ends = told(conn, where, ends)
    show([asdict(one) for one in ends], _CANCELLED, as_json=as_json)
    for one in ends:
        if said := one.advice(stop=stop):
            click.echo(f"emq: {said}", err=True)
    if any(one.answer != "done" for one in ends):
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
