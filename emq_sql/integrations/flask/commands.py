"""`flask emq`: the commands of `emq`, on the ledger of the application that `flask` has loaded."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager

import click
from flask import Flask, current_app
from flask.cli import ScriptInfo

from emq_sql.cli.context import patience_option
from emq_sql.cli.main import COMMANDS, Lazy
from emq_sql.integrations.flask.ledgers import ledger_of_app

_OF_NO_APPLICATION = ("demo", "dev-db", "lab")
_PLACES = {name: place for name, place in COMMANDS.items() if name not in _OF_NO_APPLICATION}
_APP = "emq_sql.integrations.flask.loading:emq"


class Bound(Lazy):
    """Its commands find in the environment what the application's config says: as defaults of
    theirs, so that --dsn and --schema can still say otherwise.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        info = ctx.ensure_object(ScriptInfo)
        app = info.load_app()
        if not (current_app and current_app._get_current_object() is app):  # type: ignore[attr-defined]
            ctx.with_resource(app.app_context())
        ctx.with_resource(_said(app, info.app_import_path))
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        found = super().get_command(ctx, name)
        return _of_this_application(found) if found and name == "worker" else found


@click.group("emq", cls=Bound, places=_PLACES)
@patience_option
def commands(patience: float) -> None:
    """The job queue: its workers, its ledger, its dead letters."""


def _of_this_application(worker: click.Command) -> click.Command:
    """`emq worker`, with the application that is loaded instead of --app."""
    made = copy.copy(worker)
    assert made.callback is not None
    made.params = [param for param in made.params if param.name != "app_spec"]
    made.callback = functools.partial(made.callback, app_spec=_APP)
    return made


@contextmanager
def _said(app: Flask, import_path: str | None) -> Iterator[None]:
    """In the environment while a command runs; the processes that a worker starts have it too."""
    ledger = ledger_of_app(app)
    said = {
        "EMQ_DSN": ledger.dsn,
        "EMQ_SCHEMA": ledger.schema,
        "EMQ_LISTEN_DSN": ledger.listen_dsn,
        "FLASK_APP": import_path,
    }
    before = dict(os.environ)
    os.environ.update({name: value for name, value in said.items() if value is not None})
    try:
        yield
    finally:
        for name in said:
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)
