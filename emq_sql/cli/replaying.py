"""replay and discard: dead letters go back into the line, or are given up for good."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import click
import psycopg

from emq_sql import dead_letters
from emq_sql.cli.choosing import choosing, chosen
from emq_sql.cli.chunks import each, rate, run, targets
from emq_sql.cli.context import (
    INTERRUPTED,
    database_options,
    dry_run_option,
    json_option,
    label_option,
    ledger_of,
)
from emq_sql.cli.output import show_one
from emq_sql.cli.stopping import Pace, stoppable
from emq_sql.protocol import dead as letters

Connection = psycopg.Connection[Any]

_CHUNK = click.option(
    "--chunk", type=click.IntRange(1, 10_000), default=dead_letters.CHUNK, show_default=True,
    help="Jobs of one transaction.",
)  # fmt: skip
_ALL = click.option("--all", "everything", is_flag=True, help="All dead letters there are.")
_RATE = click.option("--rate", "at_most", help="At most so many, for example 100/s.")
_WHY_NOT = {
    "permanent": "failed for good or came too late; --include-permanent replays them too",
    "never": "their queue never replays (replay_within); by id, --force does",
    "too_old": "are older than their queue replays (replay_within); by id, --force does",
    "busy": "are held by another transaction; call again for them",
}


@click.command()
@database_options
@json_option
@choosing(permanent=True)
@_ALL
@dry_run_option
@_RATE
@_CHUNK
@click.option("--force", is_flag=True, help="With ids: whatever their queue says of replays.")
@label_option
@click.argument("job_ids", nargs=-1, metavar="[ID]...")
@click.pass_context
def replay(
    ctx: click.Context, /, dsn: str | None, schema: str, as_json: bool, everything: bool,
    dry_run: bool, at_most: str | None, chunk: int, force: bool, label: str | None,
    job_ids: tuple[str, ...], **said: Any,
) -> None:  # fmt: skip
    """Put dead letters back into the line: those named, those that the options choose, or --all.

    They keep their ids and attempts, get fresh budgets, and join the tail of their level. Chosen by
    options, those stay that failed for good or that their queue does not replay. Ctrl-C ends it
    after the chunk that is under way; call it again to go on. The exit code is 1 when one of the
    ids was not replayed.
    """
    wanted = chosen(said)
    named = targets(job_ids, wanted, everything)
    pace = Pace(rate(at_most))
    if force and not named:
        raise click.UsageError("--force goes with ids: a queue's policy holds for many.")
    with ledger_of(dsn, schema) as (conn, where):
        if not named:
            ctx.exit(_replay_many(conn, where, wanted, pace, chunk, label, dry_run, as_json))

        def act(job: UUID) -> str:
            if dry_run:
                found = letters.letter(conn, where, job)
                return "lost" if found is None else "replay" if force else found["verdict"]
            return dead_letters.replay(conn, where, job, force, label, rings=True)

        good = "replay" if dry_run else "done"
        ctx.exit(0 if each(named, act, good, as_json=as_json) else 1)


def _replay_many(
    conn: Connection, where: str, wanted: letters.Filter, pace: Pace, chunk: int,
    label: str | None, dry_run: bool, as_json: bool,
) -> int:  # fmt: skip
    with stoppable() as stop:
        count = letters.replay_count(conn, where, wanted)
        stays = {"permanent": count.permanent, "never": count.never, "too_old": count.too_old}
        if dry_run:
            show_one({"replay": count.replay, **stays}, as_json=as_json)
            _explain(stays, as_json)
            return 0
        chunks = dead_letters.replays(
            conn, where, wanted, pace.chunk(chunk), label, rings=True, before=count.at
        )
        done, stopped = run(
            "replayed", count.replay, stop, pace, chunks, lambda some: some.replayed
        )
    if done is None:
        done = letters.Replayed(0, 0, 0, 0, 0, [], None)
    stays = {
        "permanent": done.permanent, "never": done.never, "too_old": done.too_old,
        "busy": done.busy,
    }  # fmt: skip
    show_one({"replayed": done.replayed, **stays, "stopped": stopped}, as_json=as_json)
    _explain(stays, as_json)
    return _end(stopped, f"replayed {done.replayed:,} of {count.replay:,}")


@click.command()
@database_options
@json_option
@choosing(reason=False)
@_ALL
@dry_run_option
@_RATE
@_CHUNK
@click.option("--reason", "why", help="Why; the audit keeps it. Needed.")
@click.argument("job_ids", nargs=-1, metavar="[ID]...")
@click.pass_context
def discard(
    ctx: click.Context, /, dsn: str | None, schema: str, as_json: bool, everything: bool,
    dry_run: bool, at_most: str | None, chunk: int, why: str | None, job_ids: tuple[str, ...],
    died_of: tuple[str, ...], **said: Any,
) -> None:  # fmt: skip
    """Give dead letters up: those named, those that the options choose, or --all.

    They go to the archive as discarded, whatever they died of, and are retired with their day. That
    cannot be taken back. Ctrl-C ends it after the chunk that is under way. The exit code is 1 when
    one of the ids was not discarded.
    """
    wanted = chosen({**said, "reason": died_of})
    named = targets(job_ids, wanted, everything)
    pace = Pace(rate(at_most))
    reason = "" if dry_run else dead_letters.given(why)
    with ledger_of(dsn, schema) as (conn, where):
        if not named:
            ctx.exit(_discard_many(conn, where, wanted, reason, pace, chunk, dry_run, as_json))

        def act(job: UUID) -> str:
            if dry_run:
                return "discard" if letters.letter(conn, where, job) else "lost"
            return letters.discard_one(conn, where, job, reason)

        good = "discard" if dry_run else "done"
        ctx.exit(0 if each(named, act, good, as_json=as_json) else 1)


def _discard_many(
    conn: Connection, where: str, wanted: letters.Filter, reason: str, pace: Pace, chunk: int,
    dry_run: bool, as_json: bool,
) -> int:  # fmt: skip
    with stoppable() as stop:
        count = letters.replay_count(conn, where, wanted)
        if dry_run:
            show_one({"discard": count.letters}, as_json=as_json)
            return 0
        chunks = dead_letters.discards(
            conn, where, wanted, reason, pace.chunk(chunk), before=count.at
        )
        done, stopped = run(
            "discarded", count.letters, stop, pace, chunks, lambda some: some.discarded
        )
    if done is None:
        done = letters.Discarded(0, 0, None)
    stays = {"busy": done.busy}
    show_one({"discarded": done.discarded, **stays, "stopped": stopped}, as_json=as_json)
    _explain(stays, as_json)
    return _end(stopped, f"discarded {done.discarded:,} of {count.letters:,}")


def _explain(stays: dict[str, int], as_json: bool) -> None:
    for verdict, number in stays.items():
        if number and not as_json:
            click.echo(f"{number:,} {_WHY_NOT[verdict]}.", err=True)


def _end(stopped: bool, how_far: str) -> int:
    if stopped:
        click.echo(f"Stopped: {how_far}; call it again to go on.", err=True)
    return INTERRUPTED if stopped else 0
