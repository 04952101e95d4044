"""schema: the numbered steps and the four roles."""

from __future__ import annotations

import click

from emq_sql.cli.context import database_options, ledger_of
from emq_sql.protocol import steps
from emq_sql.rules import names


@click.group()
def schema() -> None:
    """Install, upgrade or take back the ledger's schema."""


@schema.command()
@database_options
@click.option("--to", type=int, help="The version to reach; the newest when left out.")
@click.option("--sql", "as_sql", is_flag=True, help="Print the SQL instead of running it.")
@click.option("--from", "frm", type=int, default=0, help="With --sql: the version that is there.")
def upgrade(dsn: str | None, schema: str, to: int | None, as_sql: bool, frm: int) -> None:
    """Apply the steps that are missing, each in a transaction of its own."""
    target = steps.newest() if to is None else to
    if as_sql:
        click.echo(steps.script(frm, target, names.schema_name(schema)))
        return
    with ledger_of(dsn, schema) as (conn, where):
        done = steps.upgrade(conn, schema=where, to=target)
        version = steps.current(conn, schema=where)
    click.echo(f"{where}: {f'applied {done}' if done else 'nothing to do'}, now at {version}")


@schema.command()
@database_options
@click.option("--to", type=int, required=True, help="The version to go back to; 0 removes all.")
@click.option("--discard-jobs", is_flag=True, help="Go on although jobs are lost with the tables.")
@click.option("--sql", "as_sql", is_flag=True, help="Print the SQL instead of running it.")
@click.option("--from", "frm", type=int, help="With --sql: the version that is there.")
def downgrade(
    dsn: str | None, schema: str, to: int, discard_jobs: bool, as_sql: bool, frm: int | None
) -> None:
    """Take back steps, newest first, all or none; refused while jobs would be lost."""
    if as_sql:
        start = steps.newest() if frm is None else frm
        click.echo(steps.script(start, to, names.schema_name(schema)))
        return
    with ledger_of(dsn, schema) as (conn, where):
        done = steps.downgrade(conn, schema=where, to=to, discard_jobs=discard_jobs)
        version = steps.current(conn, schema=where)
    click.echo(f"{where}: {f'took back {done}' if done else 'nothing to do'}, now at {version}")


@schema.command()
@database_options
def current(dsn: str | None, schema: str) -> None:
    """The version in the database, and the one that this emq works with."""
    with ledger_of(dsn, schema) as (conn, where):
        have = steps.current(conn, schema=where)
    click.echo(f"{where}: {have or 'not installed'} (this emq works with {steps.newest()})")


@schema.command()
@database_options
@click.option("--prefix", default="emq", show_default=True, help="How the role names begin.")
@click.option("--sql", "as_sql", is_flag=True, help="Print the SQL instead of running it.")
def roles(dsn: str | None, schema: str, prefix: str, as_sql: bool) -> None:
    """Make the roles producer, worker, operator and reader, and grant them what they may do."""
    script = steps.roles_script(schema=names.schema_name(schema), prefix=prefix)
    if as_sql:
        click.echo(script)
        return
    with ledger_of(dsn, schema) as (conn, where):
        steps.apply_roles(conn, schema=where, prefix=prefix)
    click.echo(f"{where}: {prefix}_producer, {prefix}_worker, {prefix}_operator, {prefix}_reader")
