"""alembic: the revision of the application that leads the ledger on."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path

import click

from emq_sql.cli.context import json_option
from emq_sql.cli.output import show_one
from emq_sql.errors import BadSetting


@click.group()
def alembic() -> None:
    """The ledger's schema in the application's own Alembic history."""


@alembic.command()
@click.option("-m", "--message", help="What the revision is called.")
@click.option("--from", "frm", type=int, help="The version before it, where no revision says it.")
@click.option("--to", type=int, help="The version to reach; the newest when left out.")
@click.option(
    "--config", envvar="ALEMBIC_CONFIG", type=click.Path(path_type=Path), metavar="FILE",
    help="alembic.ini, or pyproject.toml; else ./alembic.ini or ./migrations/alembic.ini.",
)  # fmt: skip
@click.option(
    "--schema", envvar="EMQ_SCHEMA", default="emq", show_default=True, help="The ledger's schema."
)
@json_option
def revision(
    message: str | None, frm: int | None, to: int | None, config: Path | None, schema: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Write a revision from the version that the history reaches to the newest one."""
    if find_spec("alembic") is None:
        raise BadSetting("Alembic is not installed.", hint="pip install 'emq-sql[alembic]'")
    from emq_sql.integrations.alembic.revisions import write_revision  # noqa: PLC0415

    with redirect_stdout(sys.stderr):  # Alembic and its hooks tell what they do
        made = write_revision(
            config, schema=schema, message=message, from_version=frm, to_version=to
        )
    if as_json:
        show_one(
            {
                "path": str(made.path),
                "revision": made.revision,
                "after": made.after,
                "from": made.from_version,
                "to": made.to_version,
            },
            as_json=True,
        )
        return
    after = f"after {made.after}" if made.after else "the first of its history"
    click.echo(f"{made.path}: revision {made.revision}, {after}")
    click.echo(f"It leads {schema} from version {made.from_version} to {made.to_version}.")
