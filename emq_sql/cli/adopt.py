"""adopt: a copy of a database becomes one of its own."""

from __future__ import annotations

from typing import Any

import click
import psycopg

from emq_sql.cli.batches import Batches
from emq_sql.cli.context import (
    INTERRUPTED,
    database_options,
    dry_run_option,
    json_option,
    label_option,
    ledger_of,
    limit_option,
)
from emq_sql.cli.output import show_one
from emq_sql.errors import BadSetting, Retryable
from emq_sql.protocol import operating, reading
from emq_sql.protocol.operating import How
from emq_sql.rules import names

_REFUSED = {
    "workers": "Sessions of emq_sql are at work in this database: is it a copy?",
    "busy": "An open transaction has the jobs that are left.",
}
_THEN = {"workers": "Stop its workers first; nothing was adopted.", "busy": "Ask again."}


@click.command()
@database_options
@click.option("--run", "how", flag_value="run", help="The jobs of the copy are run here.")
@click.option("--hold", "how", flag_value="hold", help="They stay, their queues are paused.")
@click.option("--discard", "how", flag_value="discard", help="They are cancelled or discarded.")
@click.option("--environment", help="The tag of this database, as its application names it.")
@click.option("--no-environment", is_flag=True, help="It has no tag from now on.")
@click.option("--confirm", metavar="DATABASE", help="With --discard: the database's name.")
@label_option
@dry_run_option
@limit_option
@json_option
@click.pass_context
def adopt(
    ctx: click.Context, dsn: str | None, schema: str, how: How | None, environment: str | None,
    no_environment: bool, confirm: str | None, label: str | None, dry_run: bool, limit: int,
    as_json: bool,
) -> None:  # fmt: skip
    """Say what becomes of the jobs in a copy of a database, so that workers may run there.

    Until then a worker refuses to start in a copy. Say one of --run, --hold and --discard.
    """
    if how is None:
        raise BadSetting("What is to become of its jobs?", hint="Say --run, --hold or --discard.")
    if environment and no_environment:
        raise BadSetting("Both --environment and --no-environment.", hint="Give one of them.")
    with ledger_of(dsn, schema) as (conn, where):
        tagged = reading.meta(conn, where)["environment"]
        if tagged is not None and not (environment or no_environment):
            raise BadSetting(
                f'This database is tagged for "{tagged}".',
                hint="Say which it is for now: --environment NAME, or --no-environment.",
            )
        if dry_run:
            show_one(_jobs(conn, where), as_json=as_json)
            return
        if how == "discard":
            _confirmed(conn.info.dbname, confirm)
        last = operating.Adopted("more", 0, 0, [])
        cancelled = discarded = 0
        with Batches("given up") as batches:
            while last.status == "more" and not batches.stopped:
                last = operating.adopt(conn, where, environment, how, limit, label)
                cancelled, discarded = cancelled + last.cancelled, discarded + last.discarded
                batches.add(last.cancelled + last.discarded)
        if last.status in _REFUSED:
            raise Retryable(_REFUSED[last.status], hint=_THEN[last.status])
        if last.status == "more":
            ctx.exit(INTERRUPTED)
        told: dict[str, Any] = {"adopted": how, "environment": environment}
        if how == "hold":
            told["paused"] = ", ".join(last.paused) or None
        if how == "discard":
            told |= {"cancelled": cancelled, "discarded": discarded}
        show_one(told, as_json=as_json)


def _jobs(conn: psycopg.Connection[Any], schema: str) -> dict[str, int]:
    queues = reading.depth(conn, schema)
    places = ("pending", "scheduled", "active", "dead")
    return {place: sum(int(row[place]) for row in queues) for place in places}


def _confirmed(database: str, given: str | None) -> None:
    if given is None:
        question = f"All jobs in the database {database} will be given up. Its name, to confirm"
        given = click.prompt(question, err=True)
    if given != database:
        raise BadSetting(
            f"{names.shown(given)} is not the name of the database.", hint="Nothing was done."
        )
