"""Options that most commands share, and errors told as one sentence with exit code 2 or 1."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from emq_sql.cli.stopping import interruptible
from emq_sql.cli.watching import watched
from emq_sql.errors import AppFailed, BadInput, BadSetting, DatabaseTrouble, EmqError
from emq_sql.protocol import connecting
from emq_sql.protocol.bounded import BoundedConnection, NoAnswer
from emq_sql.rules import names
from emq_sql.rules.durations import duration
from emq_sql.rules.printable import printable

INTERRUPTED = 130  # as the shell says it of a program that SIGINT ended
PATIENCE = 60.0  # seconds that a statement may take, if nothing else is said
_GOES_ON = "Repeated, what works in steps goes on where it was."

F = TypeVar("F", bound=Callable[..., Any])


def database_options(command: F) -> F:
    """--dsn and --schema."""
    command = click.option(
        "--schema",
        envvar="EMQ_SCHEMA",
        default="emq",
        show_default=True,
        help="The ledger's schema.",
    )(command)
    return click.option(
        "--dsn", envvar="EMQ_DSN", help="PostgreSQL URL or DSN; EMQ_DSN when left out."
    )(command)


def json_option(command: F) -> F:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)


def label_option(command: F) -> F:
    """--label."""
    return click.option("--label", help="What the audit says of why or whence.")(command)


def dry_run_option(command: F) -> F:
    """--dry-run."""
    return click.option("--dry-run", is_flag=True, help="Only count what would be done.")(command)


def limit_option(command: F) -> F:
    """--limit."""
    return click.option(
        "--limit",
        type=click.IntRange(1, 100_000),
        default=1000,
        show_default=True,
        help="Rows of one batch.",
    )(command)


@contextmanager
def ledger_of(dsn: str | None, schema: str) -> Iterator[tuple[BoundedConnection, str]]:
    """A connection of one's own to the ledger that the options name, and its schema.

    What is asked on it is answered within --patience, or ends, but for statements that say
    themselves that they may take longer. Ctrl-C ends what is asked at once.
    """
    if not dsn:
        raise BadSetting("No database is set.", hint="Give --dsn or set EMQ_DSN.")
    where = names.schema_name(schema)
    # It tells what became of its statements when they are broken off; we tell it in our own words.
    logging.getLogger("psycopg").addHandler(logging.NullHandler())
    conn = connecting.bounded(dsn, patience())
    try:
        with interruptible(conn), watched(conn, dsn):
            yield conn, where
    except DatabaseTrouble as error:
        if not isinstance(error.__cause__, NoAnswer):
            raise
        hint = f"{error.hint or _GOES_ON} emq --patience SECONDS waits longer."
        raise type(error)(error.what, hint=hint) from error.__cause__
    finally:
        conn.close()


def patience() -> float:
    """Seconds that a statement may take, as `emq --patience` says, or `flask emq --patience`."""
    ctx: click.Context | None = click.get_current_context()
    while ctx is not None and "patience" not in ctx.params:
        ctx = ctx.parent
    given = PATIENCE if ctx is None else ctx.params["patience"]
    return duration(given, "--patience").total_seconds()


def patience_option(command: F) -> F:
    """--patience, of a group."""
    return click.option(
        "--patience", envvar="EMQ_PATIENCE", type=float, default=PATIENCE, show_default=True,
        metavar="SECONDS", help="How long the database may take for each answer.",
    )(command)  # fmt: skip


class Told(click.Group):
    """A group whose commands tell our errors in one sentence: exit 2 for bad input, else 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except EmqError as error:
            click.echo(f"emq: {printable(str(error))}", err=True)
            if isinstance(error, AppFailed) and error.__cause__ is not None:
                told = "".join(traceback.format_exception(error.__cause__))
                click.echo(printable(told.expandtabs(4)), err=True, nl=False)
            ctx.exit(2 if isinstance(error, BadInput) else 1)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
