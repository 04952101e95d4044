"""`emq dev-db`: a PostgreSQL for development, from programs that pip can install."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from emq_sql.embedded import dev_db as embedded
from emq_sql.errors import EmbeddedError

F = TypeVar("F", bound=Callable[..., Any])

NOT_RUNNING = 3


@click.group("dev-db")
def dev_db() -> None:
    """A private PostgreSQL for development that keeps its data."""


def _directory(command: F) -> F:
    return click.option(
        "--dir",
        "directory",
        type=click.Path(file_okay=False, path_type=Path),
        help="Where the data are kept; by default the user's data directory.",
    )(command)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except EmbeddedError as error:
        raise click.ClickException(str(error)) from error


@dev_db.command()
@_directory
def start(directory: Path | None) -> None:
    """Start it, unless it runs already, and print its DSN."""
    with _told():
        running = embedded.start(directory)
    said = "started" if running.started else "runs already"
    click.echo(f"PostgreSQL {running.version} {said}, data in {running.directory}", err=True)
    click.echo(running.dsn)


@dev_db.command()
@_directory
def stop(directory: Path | None) -> None:
    """Stop it; the data stay."""
    with _told():
        stopped = embedded.stop(directory)
    click.echo("stopped" if stopped else "not running", err=True)


@dev_db.command()
@_directory
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def status(context: click.Context, directory: Path | None, as_json: bool) -> None:
    """Say whether it runs; the exit code is 3 when it does not."""
    with _told():
        found = embedded.status(directory)
    rows = {
        "running": found.dsn is not None,
        "dsn": found.dsn,
        "pid": found.pid,
        "version": found.version,
        "directory": str(found.directory),
    }
    if as_json:
        click.echo(json.dumps(rows))
    else:
        for name, value in rows.items():
            if value is not None:
                said = ("no", "yes")[value] if isinstance(value, bool) else value
                click.echo(f"{name:<10} {said}")
    if found.dsn is None:
        context.exit(NOT_RUNNING)


@dev_db.command()
@_directory
@click.pass_context
def dsn(context: click.Context, directory: Path | None) -> None:
    """Print its DSN, for EMQ_DSN=$(emq dev-db dsn)."""
    with _told():
        found = embedded.status(directory)
    if found.dsn is None:
        click.echo("It does not run: `emq dev-db start` starts it.", err=True)
        context.exit(NOT_RUNNING)
    click.echo(found.dsn)
