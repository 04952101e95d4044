"""The `emq` command and its subcommands."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Mapping
from typing import Any

import click

from emq_sql.cli.context import Told, patience_option
from emq_sql.cli.streams import open_missing, told_when_full

COMMANDS = {
    "adopt": "emq_sql.cli.adopt:adopt",
    "alembic": "emq_sql.cli.alembic:alembic",
    "archive": "emq_sql.cli.archive:archive",
    "cancel": "emq_sql.cli.ending:cancel",
    "cron": "emq_sql.cli.cron:cron",
    "dead": "emq_sql.cli.dead:dead",
    "demo": "emq_sql.cli.demo:demo",
    "dev-db": "emq_sql.cli.dev_db:dev_db",
    "discard": "emq_sql.cli.replaying:discard",
    "doctor": "emq_sql.cli.doctor:doctor",
    "drain": "emq_sql.cli.emptying:drain",
    "enqueue": "emq_sql.cli.steering:enqueue",
    "health": "emq_sql.cli.health:health",
    "job": "emq_sql.cli.looking:job",
    "lab": "emq_sql.cli.lab:lab",
    "ledger": "emq_sql.cli.looking:ledger",
    "maintain": "emq_sql.cli.maintain:maintain",
    "obliterate": "emq_sql.cli.emptying:obliterate",
    "pause": "emq_sql.cli.steering:pause",
    "queue": "emq_sql.cli.settings:queue",
    "queues": "emq_sql.cli.looking:queues",
    "reap": "emq_sql.cli.steering:reap",
    "refusals": "emq_sql.cli.refusals:refusals",
    "release-worker": "emq_sql.cli.ending:release_worker",
    "replay": "emq_sql.cli.replaying:replay",
    "resume": "emq_sql.cli.steering:resume",
    "schema": "emq_sql.cli.schema:schema",
    "settings": "emq_sql.cli.settings:ledger_settings",
    "worker": "emq_sql.cli.worker:worker",
}
HIDDEN = {"worker-child": "emq_sql.cli.child:worker_child"}


class Lazy(Told):
    """Imports a command's module when it is called, so that an extra is needed only by its own.

    `places` says where each command is; `unlisted` ones are found too, but no help shows them.
    """

    def __init__(
        self, *args: Any, places: Mapping[str, str], unlisted: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(*args, **kwargs)
        self._places = places
        self._unlisted = unlisted or {}

    def main(self, *args: Any, **kwargs: Any) -> Any:
        open_missing()
        with told_when_full():
            return super().main(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(self._places)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        place = self._places.get(name) or self._unlisted.get(name)
        if place is None:
            return None
        module, _, attribute = place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.group(cls=Lazy, places=COMMANDS, unlisted=HIDDEN)
@click.version_option(package_name="emq-sql", prog_name="emq")
@patience_option
def main(patience: float) -> None:  # noqa: ARG001 - `ledger_of` reads it
    """A job queue in the PostgreSQL you already have.

    Commands read the database from --dsn or EMQ_DSN.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may lack letters that names have
            stream.reconfigure(errors="backslashreplace")
