"""schema: the numbered steps and the four roles."""

from __future__ import annotations

import click

from emq_sql.cli.context import database_options, json_option, ledger_of
from emq_sql.cli.output import show_one
from emq_sql.errors import StepOutOfOrder
from emq_sql.protocol import steps
from emq_sql.rules import names


@click.group()
def schema() -> None:
    """Install, upgrade or take back the ledger's schema."""


_SQL_OPTION = click.option(
    "--sql", "as_sql", is_flag=True, help="Print the SQL instead of running it."
)


@schema.command()
@database_options
@json_option
@click.option("--to", type=int, help="The version to reach; the newest when left out.")
@_SQL_OPTION
@click.option("--from", "frm", type=int, help="With --sql: the version that is there, usually 0.")
def upgrade(
    dsn: str | None, schema: str, as_json: bool, to: int | None, as_sql: bool, frm: int | None
) -> None:
    """Apply the steps that are missing, each in a transaction of its own."""
    target = steps.newest() if to is None else to
    if as_sql:
        _print_script(frm or 0, target, schema, up=True)
        return
    _refuse_from(frm)
    with ledger_of(dsn, schema) as (conn, where):
        done = steps.upgrade(conn, schema=where, to=target)
        version = steps.current(conn, schema=where)
    if as_json:
        show_one({"schema": where, "applied": done, "version": version}, as_json=True)
        return
    click.echo(f"{where}: {f'applied {done}' if done else 'nothing to do'}, now at {version}")


@schema.command()
@database_options
@json_option
@click.option("--to", type=int, required=True, help="The version to go back to; 0 removes all.")
@click.option("--discard-jobs", is_flag=True, help="Go on although jobs are lost with the tables.")
@_SQL_OPTION
@click.option("--from", "frm", type=int, help="With --sql: the version that is there.")
def downgrade(
    dsn: str | None, schema: str, as_json: bool, to: int, discard_jobs: bool, as_sql: bool,
    frm: int | None,
) -> None:  # fmt: skip
    """Take back steps, newest first, all or none; refused while jobs would be lost."""
    if as_sql:
        _print_script(steps.newest() if frm is None else frm, to, schema, up=False)
        return
    _refuse_from(frm)
    with ledger_of(dsn, schema) as (conn, where):
        done = steps.downgrade(conn, schema=where, to=to, discard_jobs=discard_jobs)
        version = steps.current(conn, schema=where)
    if as_json:
        show_one({"schema": where, "took_back": done, "version": version}, as_json=True)
        return
    click.echo(f"{where}: {f'took back {done}' if done else 'nothing to do'}, now at {version}")


def _print_script(frm: int, to: int, schema: str, *, up: bool) -> None:
    if (frm > to) if up else (frm < to):
        raise StepOutOfOrder(
            f"From version {frm} to {to} is no {'upgrade' if up else 'downgrade'}.",
            hint=f"Use emq schema {'downgrade' if up else 'upgrade'}, or other numbers.",
        )
    click.echo(steps.script(frm, to, names.schema_name(schema)))


def _refuse_from(frm: int | None) -> None:
    if frm is not None:
        raise click.UsageError("--from goes with --sql; else the database says where it is.")


@schema.command()
@database_options
@json_option
def current(dsn: str | None, schema: str, as_json: bool) -> None:
    """The version in the database, and the one that this emq works with."""
    with ledger_of(dsn, schema) as (conn, where):
        have = steps.current(conn, schema=where)
    if as_json:
        show_one({"schema": where, "version": have, "newest": steps.newest()}, as_json=True)
        return
    click.echo(f"{where}: {have or 'not installed'} (this emq works with {steps.newest()})")


@schema.command()
@database_options
@click.option("--prefix", default="emq", show_default=True, help="How the role names begin.")
@_SQL_OPTION
def roles(dsn: str | None, schema: str, prefix: str, as_sql: bool) -> None:
    """Make the roles producer, worker, operator and reader, and grant them what they may do."""
    script = steps.roles_script(schema=names.schema_name(schema), prefix=prefix)
    if as_sql:
        click.echo(script)
        return
    with ledger_of(dsn, schema) as (conn, where):
        steps.apply_roles(conn, schema=where, prefix=prefix)
    click.echo(f"{where}: {prefix}_producer, {prefix}_worker, {prefix}_operator, {prefix}_reader")
