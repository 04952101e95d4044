"""doctor: versions, schema, clock difference, last reap; exit code 1 when something is bad."""

from __future__ import annotations

from dataclasses import asdict

import click

from emq_sql.cli.context import database_options, json_option, ledger_of
from emq_sql.cli.output import show
from emq_sql.upkeep import doctor as rules

COLUMNS = {"state": "", "subject": "what", "found": "found", "advice": "do"}


@click.command()
@database_options
@json_option
@click.pass_context
def doctor(ctx: click.Context, dsn: str | None, schema: str, as_json: bool) -> None:
    """Look whether the server, the schema and the recovery of lost leases are well."""
    with ledger_of(dsn, schema) as (conn, where):
        findings = rules.examine(conn, where)
    show([asdict(finding) for finding in findings], COLUMNS, as_json=as_json)
    if any(finding.state == "bad" for finding in findings):
        ctx.exit(1)
