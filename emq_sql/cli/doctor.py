"""doctor: versions, schema, clock difference, last reap; exit code 1 when something is bad."""

from __future__ import annotations

from dataclasses import asdict

import click

from emq_sql.cli.context import database_options, json_option, ledger_of
from emq_sql.cli.cron import cron_option
from emq_sql.cli.output import show
from emq_sql.rules.durations import duration
from emq_sql.upkeep import doctor as rules

COLUMNS = {"state": "", "subject": "what", "found": "found", "advice": "do"}


@click.command()
@database_options
@cron_option
@json_option
@click.option(
    "--reap-interval", type=float,
    help="Seconds between two reaps; a lease that expired two of them ago is stuck.",
)  # fmt: skip
@click.pass_context
def doctor(
    ctx: click.Context, dsn: str | None, schema: str, cron_dsn: str | None, as_json: bool,
    reap_interval: float | None,
) -> None:  # fmt: skip
    """Look whether the server, the schema and the recovery of lost leases are well."""
    interval = None if reap_interval is None else duration(reap_interval, "--reap-interval")
    with ledger_of(dsn, schema) as (conn, where):
        findings = rules.examine(conn, where, cron_dsn, interval)
    show([asdict(finding) for finding in findings], COLUMNS, as_json=as_json)
    if any(finding.state == "bad" for finding in findings):
        ctx.exit(1)
