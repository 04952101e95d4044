"""dead: the dead letters, one by one, by what they died of, or one of them whole."""

from __future__ import annotations

from typing import Any

import click

from emq_sql.cli.choosing import choosing, chosen
from emq_sql.cli.context import database_options, json_option, ledger_of
from emq_sql.cli.output import cell, show, show_one, table
from emq_sql.errors import BadJobId
from emq_sql.protocol import dead as letters
from emq_sql.protocol import reading
from emq_sql.rules import ids
from emq_sql.rules.printable import printable

LIST = {
    "id": "job", "died_at": "died at", "queue": "queue", "task": "task", "reason": "reason",
    "attempts": "attempts", "worker": "last held by", "verdict": "replay", "headline": "error",
}  # fmt: skip
GROUP = {
    "letters": "letters", "replayable": "to replay", "task": "task", "reason": "reason",
    "fingerprint": "fingerprint", "last_died_at": "last died at", "example": "example",
    "headline": "error",
}  # fmt: skip
STORY = {
    "at": "at", "event": "event", "attempts": "attempt", "worker": "worker", "detail": "detail",
}  # fmt: skip
_VERDICTS = {"replay": "yes"}


class Listing(click.Group):
    """`emq dead --queue mail` is `emq dead list --queue mail`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=Listing)
def dead() -> None:
    """Dead letters: jobs that are out of budget or failed for good, kept until somebody acts.

    Without a command they are listed.
    """


@dead.command("list")
@database_options
@json_option
@choosing(permanent=True)
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True)
def listed(dsn: str | None, schema: str, as_json: bool, limit: int, **said: Any) -> None:
    """Newest first; `replay` says whether emq replay would take it along with others."""
    wanted = chosen(said)
    with ledger_of(dsn, schema) as (conn, where):
        rows = letters.listed(conn, where, wanted, limit)
    if not as_json:
        rows = [row | {"verdict": _VERDICTS.get(row["verdict"], row["verdict"])} for row in rows]
    show(rows, LIST, as_json=as_json)
    if len(rows) == limit:
        click.echo(f"These are the newest {limit}; --limit shows more.", err=True)


@dead.command()
@database_options
@json_option
@choosing(permanent=True)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
def group(dsn: str | None, schema: str, as_json: bool, limit: int, **said: Any) -> None:
    """By task, reason and error, numbers and names in the error aside; the largest group first."""
    wanted = chosen(said)
    with ledger_of(dsn, schema) as (conn, where):
        rows = letters.groups(conn, where, wanted, limit)
    show(rows, GROUP, as_json=as_json)


@dead.command("show")
@database_options
@json_option
@click.argument("job_id")
def shown(dsn: str | None, schema: str, as_json: bool, job_id: str) -> None:
    """One dead letter whole: its arguments, its error, and all that happened to it."""
    wanted = ids.check(job_id)
    with ledger_of(dsn, schema) as (conn, where):
        letter = letters.letter(conn, where, wanted)
        if letter is None:
            raise BadJobId(
                f"No dead letter {wanted} is here.", hint=f"emq job {wanted} tells where it is."
            )
        envelope = reading.envelope(conn, where, wanted)
        story = reading.story(conn, where, wanted)
    if as_json:
        show_one({**letter, "envelope": envelope, "story": story}, as_json=True)
        return
    error = letter.pop("error")
    show_one(letter, as_json=False)
    if envelope:
        for name in ("payload", "headers", "priority", "max_attempts", "enqueued_at"):
            click.echo(f"{name:<12} {cell(envelope[name])}")
    click.echo(f"\n{printable(error.expandtabs(4)).rstrip() if error else 'No error was told.'}\n")
    click.echo("\n".join(table(story, STORY)))
