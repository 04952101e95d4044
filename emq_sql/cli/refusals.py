"""refusals: the stale calls that were refused, one by one or counted."""

from __future__ import annotations

import click

from emq_sql.cli.context import database_options, json_option, ledger_of
from emq_sql.cli.output import show, show_one, table
from emq_sql.protocol import refusals as kept
from emq_sql.rules import ids
from emq_sql.rules.durations import written

LIST = {
    "at": "at", "id": "job", "task": "task", "attempts": "attempt", "worker": "worker",
    "verb": "verb", "late_seconds": "late s", "overlap_seconds": "overlap s",
}  # fmt: skip
COUNT = {
    "task": "task", "verb": "verb", "refusals": "refusals", "claims": "stale claims",
    "late_seconds": "longest late s", "double_run_seconds": "double-run s",
}  # fmt: skip


@click.command()
@database_options
@json_option
@click.option("--job", "job_id", metavar="ID", help="Of this job.")
@click.option("--task", help="Of this task.")
@click.option("--since", metavar="DURATION", help="So long ago or less, for example 2h or 7d.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True)
@click.option("--count", is_flag=True, help="By task and verb, and all together.")
def refusals(
    dsn: str | None, schema: str, as_json: bool, job_id: str | None, task: str | None,
    since: str | None, limit: int, count: bool,
) -> None:  # fmt: skip
    """What workers tried for jobs that they had lost, newest first; nothing of it was committed.

    `late` is how long the lease had been over; `overlap` how long the next attempt had been running
    beside the lost one.
    """
    job = None if job_id is None else ids.check(job_id)
    within = None if since is None else written(since, "--since")
    with ledger_of(dsn, schema) as (conn, where):
        if not count:
            rows = kept.listed(conn, where, job, task, within, limit)
            show(rows, LIST, as_json=as_json)
            if len(rows) == limit:
                click.echo(f"These are the newest {limit}; --limit shows more.", err=True)
            return
        by = kept.counted(conn, where, job, task, within)
        total = kept.total(conn, where, job, task, within)
    if as_json:
        show_one({**total, "by": by}, as_json=True)
        return
    click.echo("\n".join(table(by, COUNT)))
    click.echo(
        f"\n{total['refusals']} refusals of {total['claims']} stale claims of {total['jobs']} jobs;"
        f" double-run seconds, each claim once: {total['double_run_seconds']:.1f}"
    )
