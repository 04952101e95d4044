"""demo: real files, real kills, and an account of every job."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import NoReturn

import click

from emq_sql.demo import tree
from emq_sql.demo.account import Account
from emq_sql.demo.interruptions import Interrupted
from emq_sql.demo.run import Kept, Options, Run, WorkersFailed
from emq_sql.demo.screen import screen_for


@click.command()
@click.argument(
    "directory", metavar="[DIR]", required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)  # fmt: skip
@click.option("--dsn", help="Use this PostgreSQL, in schemas of the demo's own (emq_demo...).")
@click.option("--workers", type=click.IntRange(2, 16), default=2, show_default=True)
@click.option("--concurrency", type=click.IntRange(1, 12), default=4, show_default=True)
@click.option("--limit", type=click.IntRange(1), help="At most so many files.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the order of the files.")
@click.option("--deadline", type=click.FloatRange(5), default=120, show_default=True,
              help="Seconds after which the run is given up.")  # fmt: skip
@click.option("--keep", is_flag=True, help="Leave the database running, to look around in it.")
@click.option("--data", type=click.Path(file_okay=False, path_type=Path),
              help="With --keep: where its data are kept.")  # fmt: skip
@click.option("--reset", is_flag=True, help="Drop what an earlier demo left there.")
@click.option("--quiet", is_flag=True, help="Print nothing but the account.")
@click.pass_context
def demo(
    ctx: click.Context, directory: Path | None, dsn: str | None, workers: int, concurrency: int,
    limit: int | None, seed: int, deadline: float, keep: bool, data: Path | None, reset: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Measure the files below DIR with a queue whose workers are killed and frozen meanwhile.

    DIR is the standard library of this Python when it is left out. Each file is a job; the files
    are only read. Two workers are killed with kill -9 in mid-work and one is frozen past its
    leases; then the account of all jobs is read from the database. The exit code is 0 when it
    balances, 1 when it does not or the deadline has passed.
    """
    options = Options(
        root=directory or tree.standard_library(), dsn=dsn, workers=workers,
        concurrency=concurrency, limit=limit, seed=seed, deadline=deadline, keep=keep, data=data,
        reset=reset,
    )  # fmt: skip
    run = Run(options, screen_for(click.echo, quiet=quiet))
    try:
        found = run.to_the_end()
    except Interrupted as end:
        if not end.late:
            click.echo("emq demo: interrupted; workers ended, temporary files gone.", err=True)
            ctx.exit(128 + end.number)
        click.echo(f"emq demo: given up after {deadline:g} s while {run.stage}.", err=True)
        _explain(ctx, run)
    except WorkersFailed as failed:
        click.echo(f"emq demo: ended by itself: {failed}.", err=True)
        _explain(ctx, run)
    if not quiet:
        click.echo()
    _print(found)
    if run.kept is not None:
        _look_around(run.kept)
    ctx.exit(0 if found.balances else 1)


def _explain(ctx: click.Context, run: Run) -> NoReturn:
    click.echo(f"What the workers said last:\n{run.last_words}", err=True)
    ctx.exit(1)


def _print(found: Account) -> None:
    names = max(len(line.name) for line in found.lines)
    values = max(len(line.value) for line in found.lines)
    for line in found.lines:
        bad = "  <-- DOES NOT BALANCE" if line.good is False else ""
        note = f"   {line.note}" if line.note else ""
        click.echo(f"{line.name.ljust(names)}  {line.value.rjust(values)}{note}{bad}")
    click.echo(
        "The account balances." if found.balances else "THE ACCOUNT DOES NOT BALANCE.",
    )


def _look_around(kept: Kept) -> None:
    place = kept.place
    schema = "" if place.schemas.ledger == "emq" else f" EMQ_SCHEMA={place.schemas.ledger}"
    click.echo("\nThe database is still there. Look around:")
    # A password that was given is not printed.
    dsn = "...   # as you gave it" if place.stop is None else shlex.quote(place.dsn)
    click.echo(f"  export{schema} EMQ_DSN={dsn}")
    click.echo("  emq queues\n  emq ledger")
    if kept.job is not None:
        click.echo(f"  emq job {kept.job}")
    if shutil.which("psql"):
        click.echo(f"  psql \"$EMQ_DSN\" -c 'table {place.schemas.files}.measured'")
    if place.stop is not None:
        click.echo(f"Stop it with: {place.stop}")
