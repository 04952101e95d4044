"""lab: real kills at each crash point, and the grid of what came of them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import NoReturn

import click

from emq_sql.cli.context import json_option
from emq_sql.demo.interruptions import Interrupted, interruptible
from emq_sql.errors import BadSetting
from emq_sql.lab.crew import WorkersFailed
from emq_sql.lab.grid import CELLS, STYLES
from emq_sql.lab.place import LONGEST
from emq_sql.lab.results import (
    Result,
    block_of,
    for_people,
    for_programs,
    markdown,
    written_into,
)
from emq_sql.lab.run import Lab


@click.command()
@click.option("--dsn", help="Use this PostgreSQL, in a schema that is made and dropped again.")
@click.option("--deadline", type=click.FloatRange(5, LONGEST), default=120, show_default=True,
              help="Seconds after which the run is given up.")  # fmt: skip
@json_option
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the grid for a page.")
@click.option("--write", "page", metavar="PAGE", help="Write that into PAGE, between its marks.",
              type=click.Path(exists=True, dir_okay=False, path_type=Path))  # fmt: skip
@click.pass_context
def lab(
    ctx: click.Context, dsn: str | None, deadline: float, as_json: bool, as_markdown: bool,
    page: Path | None,
) -> None:  # fmt: skip
    """Slide the crash point: what becomes of one job's effect when its worker dies just there.

    For each crash point and each style of completing, a worker process is killed with kill -9, or
    frozen past its lease and woken; another one goes on. The grid is read from the database: done
    once, done twice, lost. Then each cell has its reason. The exit code is 0 when every cell came
    to what its reason explains, else 1.

    Without --dsn a PostgreSQL is started for it. In a given one the schema is emq_lab_ and eight
    digits, and up to sixty connections are needed at once. A run that is killed with kill -9 leaves
    its schema, and the next one drops those that are older than an hour.
    """
    if as_json and as_markdown:
        raise BadSetting("--json and --markdown are two ways to print.", hint="Give one of them.")
    if page is not None:
        block_of(page.read_text())  # a page without a place for it is refused at once
    say = partial(click.echo, err=True)  # so that what is printed else is the grid alone
    run = Lab(dsn, CELLS, say)
    try:
        with interruptible(deadline):
            results = run.to_the_end()
    except Interrupted as end:
        if not end.late:
            click.echo("emq lab: interrupted; workers ended, the schema gone.", err=True)
            ctx.exit(128 + end.number)
        click.echo(f"emq lab: given up after {deadline:g} s while {run.stage}.", err=True)
        _explain(ctx, run)
    except WorkersFailed as failed:
        click.echo(f"emq lab: {failed}.", err=True)
        _explain(ctx, run)
    block = markdown({result.cell.number: result.found for result in results})
    if as_json:
        click.echo(json.dumps(for_programs(results), indent=2))
    elif as_markdown:
        click.echo(block)
    else:
        _print(results)
    wrong = [result for result in results if not result.expected]
    for result in wrong:
        told = f"{result.cell}: {result.found}, not {result.cell.found}"
        click.echo(f"emq lab: not as expected: {told}", err=True)
    if page is not None and not wrong:
        page.write_text(written_into(page.read_text(), block))
    ctx.exit(1 if wrong else 0)


def _explain(ctx: click.Context, run: Lab) -> NoReturn:
    click.echo(f"What the workers said last:\n{run.last_words}", err=True)
    ctx.exit(1)


def _print(results: list[Result]) -> None:
    click.echo()
    click.echo("\n".join(for_people(results)))
    click.echo()
    width = max(len(style.name) for style in STYLES)
    for style in STYLES:
        click.echo(f"{style.name.ljust(width)}  {style.about}")
