"""worker: one process that claims and runs jobs until it is told to stop."""

from __future__ import annotations

import logging
from datetime import timedelta

import click

from emq_sql.cli.context import load_app
from emq_sql.protocol import connecting
from emq_sql.rules import names
from emq_sql.service import run_service
from emq_sql.worker.settings import WorkerSettings


@click.command()
@click.option("--app", "app_spec", required=True, help="module:attribute of your EMQ.")
@click.option("-q", "--queues", default="default", show_default=True, help="Names, with commas.")
@click.option("--concurrency", default=4, show_default=True, help="Handlers at the same time.")
@click.option("--grace", default=30.0, show_default=True, help="Seconds to drain after SIGTERM.")
@click.option("--poll", default=1.0, show_default=True, help="Seconds between looks when idle.")
@click.option("--burst", is_flag=True, help="Work until the queues are empty, then exit.")
@click.option("--dsn", help="Instead of the application's own database setting.")
@click.option("--log-level", default="INFO", show_default=True)
@click.pass_context
def worker(
    ctx: click.Context, app_spec: str, queues: str, concurrency: int, grace: float, poll: float,
    burst: bool, dsn: str | None, log_level: str,
) -> None:  # fmt: skip
    """Claim and run jobs. SIGTERM or Ctrl-C drains for --grace seconds; a second one releases."""
    logging.basicConfig(
        level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    app = load_app(app_spec)
    settings = WorkerSettings(
        queues=tuple(names.queue_name(name.strip()) for name in queues.split(",")),
        concurrency=concurrency,
        poll=timedelta(seconds=poll),
        grace=timedelta(seconds=grace),
        burst=burst,
    )
    engine = app.engine if dsn is None else connecting.engine_for(dsn)
    code = run_service(
        lambda: connecting.dedicated(engine), app.schema, app.handlers, settings, app.environment
    )
    ctx.exit(code)
