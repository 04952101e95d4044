"""worker: one process that claims and runs jobs until it is told to stop."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import click

from emq_sql.app import EMQ
from emq_sql.cli import logs
from emq_sql.cli.application import load_app
from emq_sql.cli.child import LEDGER, command_of_child
from emq_sql.protocol import connecting
from emq_sql.protocol.link import Connect
from emq_sql.rules import names
from emq_sql.rules.durations import duration
from emq_sql.service import Probes, run_service
from emq_sql.worker.health.condition import LIVE_WITHIN
from emq_sql.worker.settings import USUAL_SLOTS, WorkerSettings

_FILE = click.Path(path_type=Path)


def log_options(command: click.decorators.FC) -> click.decorators.FC:
    """--log-level, --log-format and --log-config."""
    for option in (
        click.option("--log-config", type=_FILE, help="dictConfig of logging, in JSON or TOML."),
        click.option("--log-format", type=click.Choice(logs.FORMATS), help="text, if left out."),
        click.option(
            "--log-level", default="info", show_default=True,
            type=click.Choice(logs.LEVELS, case_sensitive=False),
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def health_options(command: click.decorators.FC) -> click.decorators.FC:
    """--health-port, --health-host, --health-file, --live-within and --ready-within."""
    for option in (
        click.option(
            "--ready-within", type=float,
            help="Seconds since the last claim that was answered; three polls and ten seconds.",
        ),
        click.option(
            "--live-within", default=LIVE_WITHIN.total_seconds(), show_default=True,
            help="Seconds by which a control loop may be late.",
        ),
        click.option("--health-file", type=_FILE, help="Write the health here each second."),
        click.option("--health-host", default="127.0.0.1", show_default=True),
        click.option("--health-port", type=int, help="Serve /live, /ready and / over HTTP."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command()
@click.option("--app", "app_spec", required=True, help="module:attribute of your EMQ.")
@click.option("-q", "--queues", default="default", show_default=True, help="Names, with commas.")
@click.option("--concurrency", type=int, help=f"Slots in this process; {USUAL_SLOTS}.")
@click.option("--processes", type=int, help="Child processes with one job each, instead of slots.")
@click.option("--max-jobs-per-child", type=int, help="Replace a child process after so many jobs.")
@click.option("--prefetch", default=0, show_default=True, help="Jobs claimed beyond the slots.")
@click.option("--grace", default=30.0, show_default=True, help="Seconds to drain after SIGTERM.")
@click.option("--poll", default=1.0, show_default=True, help="Seconds between looks when idle.")
@click.option("--lease", type=float, help="Seconds, for jobs that name none; else the queue's.")
@click.option("--extend", type=float, help="Seconds between extensions; lease / 3 at most.")
@click.option("--burst", is_flag=True, help="Work until the queues are empty, then exit.")
@click.option("--dsn", help="Instead of the application's own database setting.")
@click.option("--listen-dsn", help="Where to listen, if --dsn is a transaction pooler's.")
@health_options
@log_options
@click.pass_context
def worker(
    ctx: click.Context, app_spec: str, queues: str, concurrency: int | None, processes: int | None,
    max_jobs_per_child: int | None, prefetch: int, grace: float, poll: float, lease: float | None,
    extend: float | None, burst: bool, dsn: str | None, listen_dsn: str | None,
    health_port: int | None, health_host: str, health_file: Path | None, live_within: float,
    ready_within: float | None, log_level: str, log_format: str | None, log_config: Path | None,
) -> None:  # fmt: skip
    """Claim and run jobs. SIGTERM or Ctrl-C drains for --grace seconds; a second one releases."""
    logs.set_up(log_level, log_format, log_config)
    settings = WorkerSettings(
        queues=tuple(names.queue_name(name.strip()) for name in queues.split(",")),
        concurrency=concurrency,
        poll=duration(poll, "poll"),
        grace=duration(grace, "grace", allow_zero=True),
        burst=burst,
        lease=_seconds(lease, "lease"),
        extend=_seconds(extend, "extend interval"),
        processes=processes,
        max_jobs_per_child=max_jobs_per_child,
        prefetch=prefetch,
    )
    app = load_app(app_spec)
    logs.name_jobs()
    engine = app.engine if dsn is None else connecting.engine_for(dsn)
    if dsn is not None:  # not among the arguments of the children: it may hold a password
        os.environ[LEDGER] = dsn
    code = run_service(
        lambda: connecting.dedicated(engine), app.schema, app.handlers, settings, app.environment,
        Probes(
            health_port, health_host, health_file, duration(live_within, "live within"),
            _seconds(ready_within, "ready within"),
        ),
        command_of_child(app_spec, log_level, log_format, log_config),
        _listening(app, dsn, listen_dsn),
        engine,
    )  # fmt: skip
    ctx.exit(code)


def _listening(app: EMQ, dsn: str | None, listen_dsn: str | None) -> Connect | bool:
    given = listen_dsn or (dsn and os.environ.get("EMQ_LISTEN_DSN"))
    if not app.bell or (dsn and not given):
        return app.bell
    engine = connecting.engine_for(given) if given else app.listen_engine
    return lambda: connecting.dedicated(engine)


def _seconds(given: float | None, setting: str) -> timedelta | None:
    return None if given is None else duration(given, setting)
