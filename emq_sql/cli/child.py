"""worker-child: what `emq worker --processes` starts; not for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import click
from sqlalchemy.engine import Engine

from emq_sql.app import EMQ
from emq_sql.cli import logs
from emq_sql.cli.application import load_app
from emq_sql.protocol import connecting
from emq_sql.service import run_child
from emq_sql.worker.handler import Handler

NAME = "worker-child"
LEDGER = "EMQ_SQL_CHILD_LEDGER"  # the DSN of the ledger's database, if not the application's own
PATIENCE = 0.1  # seconds for each record: the last ones before a handler's crash are wanted most


def command_of_child(
    app_spec: str, log_level: str, log_format: str | None, log_config: Path | None
) -> list[str]:
    """The command that starts a child with the application and the logging of its worker."""
    command = [sys.executable, "-m", "emq_sql", NAME, "--app", app_spec, "--log-level", log_level]
    if log_format is not None:
        command += ["--log-format", log_format]
    if log_config is not None:
        command += ["--log-config", str(log_config)]
    return command


@click.command(NAME, hidden=True)
@click.option("--app", "app_spec", required=True)
@click.option("--log-level", required=True)
@click.option("--log-format")
@click.option("--log-config", type=click.Path(path_type=Path))
def worker_child(
    app_spec: str, log_level: str, log_format: str | None, log_config: Path | None
) -> None:
    """Run the handlers of one job after the other, for the worker that has started this."""

    loaded: list[EMQ] = []
    dsn = os.environ.pop(LEDGER, None)  # what handlers start has no use for it

    def log_to(fd: int) -> None:
        logs.set_up(log_level, log_format, log_config, fd, patience=PATIENCE)

    def load() -> tuple[str, Mapping[str, Handler]]:
        app = load_app(app_spec)
        loaded.append(app)
        logs.name_jobs()
        return app.schema, app.handlers

    @cache
    def engine() -> Engine:
        return loaded[0].engine if dsn is None else connecting.engine_for(dsn)

    run_child(load, log_to, engine)
