"""archive: the finished jobs, asked and tidied; and the way off the machine and back."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, cast

import click

from emq_sql.cli.context import database_options, json_option, ledger_of
from emq_sql.cli.main import Lazy
from emq_sql.cli.output import show, show_one
from emq_sql.errors import BadPayload
from emq_sql.protocol import archive as kept
from emq_sql.protocol import isolation, upkeep
from emq_sql.rules import ids, names
from emq_sql.rules.durations import instant, written

COMMANDS = {
    "as-of": "emq_sql.cli.archive:as_of",
    "days": "emq_sql.cli.archive:days",
    "export": "emq_sql.cli.exporting:export",
    "import": "emq_sql.cli.exporting:import_",
    "search": "emq_sql.cli.archive:search",
    "tidy": "emq_sql.cli.archive:tidy",
    "verify": "emq_sql.cli.exporting:verify",
}

FOUND = {
    "id": "job", "queue": "queue", "task": "task", "status": "status", "worker": "worker",
    "attempts": "attempts", "finished_at": "finished at", "error": "last error",
}  # fmt: skip
IN_FLIGHT = {
    "id": "job", "queue": "queue", "task": "task", "worker": "held by", "attempts": "attempt",
    "claimed_at": "claimed at", "ended_at": "ended at", "ended": "ended",
    "lease_deadline": "last deadline",
}  # fmt: skip
DAYS = {
    "day": "day", "name": "partition", "rows": "rows about", "bytes": "bytes", "state": "state",
    "goes_at": "goes at", "exported": "exported",
}  # fmt: skip

_ANSWER = 2.0  # seconds for the server to say that it has taken too long

_timeout_option = click.option(
    "--timeout", default="10s", show_default=True, help="How long the question may take."
)


@click.group("archive", cls=Lazy, places=COMMANDS)
def archive() -> None:
    """Finished jobs: search them, see what was in flight, and what is kept for how long."""


@click.command()
@database_options
@json_option
@click.option("--id", "id", multiple=True, help="This job.")
@click.option("--task", multiple=True, help="Of this task.")
@click.option("--queue", multiple=True, help="Of this queue.")
@click.option("--worker", multiple=True, help="Finished by this worker.")
@click.option("--status", multiple=True, type=click.Choice(["completed", "cancelled", "discarded"]))
@click.option("--error", help="With this text in an error of its attempts, or of its dead letter.")
@click.option("--payload", help="With these arguments, a JSON object, among others.")
@click.option("--after", help="Finished then or later, for example 2026-01-31T10:00:00+01:00.")
@click.option("--before", help="Finished before then.")
@click.option("--limit", type=click.IntRange(1, kept.MOST_FOUND), default=100, show_default=True)
@_timeout_option
def search(
    dsn: str | None, schema: str, as_json: bool, payload: str | None, after: str | None,
    before: str | None, limit: int, timeout: str, **said: Any,
) -> None:  # fmt: skip
    """Finished jobs of which all that is said is true, newest first.

    An option given twice means either. Day by day is read from the newest: say --after, too, where
    there is much.
    """
    wanted: dict[str, Any] = {
        name: list(v) if isinstance(v, tuple) else v for name, v in said.items() if v
    }
    if "id" in wanted:
        wanted["id"] = [ids.check(one) for one in wanted["id"]]
    if "queue" in wanted:
        wanted["queue"] = [names.queue_name(one) for one in wanted["queue"]]
    if payload is not None:
        wanted["payload"] = _object(payload)
    if after is not None:
        wanted["finished_after"] = instant(after, "--after")
    if before is not None:
        wanted["finished_before"] = instant(before, "--before")
    with ledger_of(dsn, schema) as (conn, where):
        may_take = written(timeout, "--timeout")
        with conn.within(may_take.total_seconds() + _ANSWER):
            rows = kept.search(conn, where, cast(kept.Wanted, wanted), limit, may_take)
    show(rows, FOUND, as_json=as_json)
    if len(rows) == limit and not as_json:
        click.echo(f"The newest {limit}; there may be more (--before, --limit).", err=True)


@click.command("as-of")
@database_options
@json_option
@click.option(
    "--limit", type=click.IntRange(1, kept.MOST_IN_FLIGHT), default=1000, show_default=True
)
@click.option(
    "--longest", default="1d", show_default=True,
    help="Claims that ended so long after INSTANT, or later, are left out.",
)  # fmt: skip
@_timeout_option
@click.argument("instant", metavar="INSTANT")
def as_of(
    dsn: str | None, schema: str, as_json: bool, limit: int, longest: str, timeout: str,
    **said: str,
) -> None:  # fmt: skip
    """What was in flight at INSTANT, on which worker, until when; for example
    2026-01-31T10:00:00+01:00.
    """
    at = instant(said["instant"], "INSTANT")
    within: timedelta = written(longest, "--longest")
    with ledger_of(dsn, schema) as (conn, where):
        may_take = written(timeout, "--timeout")
        with conn.within(may_take.total_seconds() + _ANSWER):
            rows = kept.as_of(conn, where, at, limit, within, may_take)
    show(rows, IN_FLIGHT, as_json=as_json)


@click.command()
@database_options
@json_option
def days(dsn: str | None, schema: str, as_json: bool) -> None:
    """The days of the archive that are in the database, and when each of them goes."""
    with ledger_of(dsn, schema) as (conn, where):
        show(kept.days(conn, where), DAYS, as_json=as_json)


@click.command()
@database_options
@json_option
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=2000, show_default=True,
    help="Rows of one step.",
)  # fmt: skip
def tidy(dsn: str | None, schema: str, as_json: bool, limit: int) -> None:
    """Let what is past its retention go now, step by step until there is nothing left.

    Upkeep does the same by itself, about once a minute. Each step commits by itself.
    """
    steps = 0
    said: tuple[str, str | None] | None = None
    with ledger_of(dsn, schema) as (conn, where):
        isolation.settle(conn)
        while not (step := upkeep.tidy(conn, where, limit)).idle:
            steps += 1
            if said != (step.did, step.what):
                said = (step.did, step.what)
                click.echo(f"{step.did} {step.what}", err=True)
    show_one({"steps": steps, "then": step.did, "what": step.what}, as_json=as_json)


def _object(text: str) -> dict[str, Any]:
    example = "Write for example '{\"order_id\": 42}'."
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise BadPayload("--payload is not JSON.", hint=example) from None
    if not isinstance(given, dict):
        raise BadPayload("--payload is not an object.", hint=example)
    return given
