"""cron: pg_cron does the upkeep, where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import click

from emq_sql.cli.context import F, database_options, json_option, ledger_of
from emq_sql.cli.output import show, show_one
from emq_sql.errors import NoPgCron
from emq_sql.upkeep import cron as rules
from emq_sql.upkeep import crontab

NOT_INSTALLED = 3

DONE = {
    "did": "", "job": "job", "schedule": "schedule", "database": "database", "role": "as",
}  # fmt: skip
STATE = {
    "job": "job", "schedule": "schedule", "role": "as", "last_status": "last run",
    "seconds_ago": "began s ago", "late_seconds": "late s", "trouble": "trouble",
}  # fmt: skip


@click.group()
def cron() -> None:
    """Let pg_cron do the upkeep, also while no worker runs."""


def cron_option(command: F) -> F:
    """--cron-dsn."""
    return click.option(
        "--cron-dsn", envvar="EMQ_CRON_DSN",
        help="The database that has pg_cron, when it is not found by itself; or another role.",
    )(command)  # fmt: skip


@contextmanager
def _reached(dsn: str | None, schema: str, cron_dsn: str | None) -> Iterator[rules.Cron]:
    with ledger_of(dsn, schema) as (conn, where), rules.reached(conn, where, cron_dsn) as found:
        yield found


@cron.command()
@database_options
@cron_option
@json_option
@click.option(
    "--every", type=click.IntRange(1, crontab.LONGEST_EVERY), default=crontab.EVERY,
    show_default=True, help="Seconds between passes.",
)  # fmt: skip
@click.option(
    "--keep-runs", type=click.IntRange(0), default=crontab.KEEP, show_default=True,
    help="How many runs of these jobs stay on pg_cron's record.",
)  # fmt: skip
def install(
    dsn: str | None, schema: str, cron_dsn: str | None, as_json: bool, every: int, keep_runs: int
) -> None:
    """Schedule the upkeep, or change how it is scheduled.

    The jobs run as the role that connects to pg_cron: use the owner of the ledger.
    """
    with _reached(dsn, schema, cron_dsn) as found:
        done = rules.install(found, every, keep_runs)
    show([asdict(each) for each in done], DONE, as_json=as_json)


@cron.command()
@database_options
@cron_option
@json_option
@click.pass_context
def status(
    ctx: click.Context, dsn: str | None, schema: str, cron_dsn: str | None, as_json: bool
) -> None:
    """The jobs, their last runs, and how late they are; looking changes nothing.

    The exit code is 1 when something is not well, 3 when nothing is installed.
    """
    try:
        with _reached(dsn, schema, cron_dsn) as found:
            jobs = rules.status(found)
    except NoPgCron as error:
        click.echo(f"emq: {error}", err=True)
        ctx.exit(NOT_INSTALLED)
    if not jobs and not as_json:
        click.echo("Nothing is installed: emq cron install does it.")
    else:
        show([asdict(job) for job in jobs], STATE, as_json=as_json)
    if not jobs:
        ctx.exit(NOT_INSTALLED)
    if any(job.trouble for job in jobs):
        ctx.exit(1)


@cron.command()
@database_options
@cron_option
@json_option
def remove(dsn: str | None, schema: str, cron_dsn: str | None, as_json: bool) -> None:
    """Take the jobs of this ledger away, with the record of their runs, and nothing else."""
    with _reached(dsn, schema, cron_dsn) as found:
        done, runs = rules.remove(found)
    show_one({"jobs": [each.job for each in done], "runs": runs}, as_json=as_json)
