"""maintain: upkeep in a process of its own, for as long as it runs or once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import psycopg

from emq_sql.app import EMQ
from emq_sql.cli import logs
from emq_sql.cli.context import database_options
from emq_sql.cli.worker import health_options, log_options
from emq_sql.errors import BadSetting, Retryable
from emq_sql.protocol import connecting
from emq_sql.protocol.link import Connect, Link
from emq_sql.rules.durations import duration
from emq_sql.service import Probes, run_maintenance
from emq_sql.service.start import checked_for_upkeep
from emq_sql.upkeep import maintenance, once


@click.command()
@database_options
@click.option("--every", default=1.0, show_default=True, help="Seconds between passes.")
@click.option("--once", "only_once", is_flag=True, help="All that is due now, then exit.")
@health_options
@log_options
@click.pass_context
def maintain(
    ctx: click.Context, dsn: str | None, schema: str, every: float, only_once: bool,
    health_port: int | None, health_host: str, health_file: Path | None, live_within: float,
    ready_within: float | None, log_level: str, log_format: str | None, log_config: Path | None,
) -> None:  # fmt: skip
    """Take back expired leases, let due jobs in, make partitions, and tidy what is old.

    Workers do the same; this is for a database where none may be running. It needs no application.
    SIGTERM and Ctrl-C end it at once. With --once the exit code is 1 when something of it could
    not be done.
    """
    logs.set_up(log_level, log_format, log_config)
    if not dsn:
        raise BadSetting("No database is set.", hint="Give --dsn or set EMQ_DSN.")
    app = EMQ(dsn, schema=schema)

    def connect() -> psycopg.Connection[Any]:
        return connecting.dedicated(app.engine)

    if only_once:
        _once(connect, app.schema)
        return
    probes = Probes(
        health_port, health_host, health_file, duration(live_within, "live within"),
        None if ready_within is None else duration(ready_within, "ready within"),
    )  # fmt: skip
    ctx.exit(run_maintenance(connect, app.schema, duration(every, "every"), probes))


def _once(connect: Connect, schema: str) -> None:
    checked_for_upkeep(connect, schema)
    link = Link(connect, "emq maintain --once", maintenance.LONGEST_PASS)
    try:
        done = once.maintained(link, schema)
        click.echo(f"promoted {done.promoted}, recovered {done.recovered}, dead {done.dead}")
        if not done.ran:
            click.echo("Another session was at it.", err=True)
        steps, last = once.tidied(link, schema)
        click.echo(f"tidied in {steps} steps")
    finally:
        link.close()
    if last.what:
        raise Retryable(f"Not all that is old could be tidied: {last.what}.", hint="Try again.")
