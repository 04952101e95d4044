"""archive export, verify and import: days of the archive as Parquet files, and back as a table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click
import psycopg

from emq_sql.cli.context import INTERRUPTED, database_options, json_option, ledger_of
from emq_sql.cli.output import show, show_one
from emq_sql.cli.stopping import stoppable
from emq_sql.errors import ArrowMissing, EmqError, EnvironmentMismatch, ExportDamaged, ExportFailed
from emq_sql.protocol import exporting, isolation, operating, reading
from emq_sql.rules.durations import written
from emq_sql.rules.printable import printable

if TYPE_CHECKING:
    from emq_sql.upkeep.export.day import Told

EXPORT = {
    "day": "day", "outcome": "outcome", "rows": "rows written", "seconds": "s",
    "rows_per_second": "rows/s", "detail": "",
}  # fmt: skip
VERIFY = {
    "day": "day", "ledger": "ledger", "version": "version", "rows": "rows", "files": "files",
    "state": "state",
}  # fmt: skip


@click.command("export")
@database_options
@json_option
@click.option("--to", "location", required=True,
              help="A directory, or a URL such as s3://bucket/prefix.")  # fmt: skip
@click.option("--day", type=click.DateTime(["%Y-%m-%d"]), help="This day (UTC) only.")
@click.option("--older-than", help="Days that ended so long ago, like 7d; else all that are over.")
@click.option("--drop", is_flag=True, help="Delete each day from the database once it is exported.")
@click.option("--part-rows", type=click.IntRange(1), default=100_000, show_default=True,
              help="Rows of a file.")  # fmt: skip
@click.pass_context
def export(
    ctx: click.Context, dsn: str | None, schema: str, as_json: bool, location: str,
    day: datetime | None, older_than: str | None, drop: bool, part_rows: int,
) -> None:  # fmt: skip
    """Write days that are over as Parquet files.

    Oldest first; each file is read back and compared before it counts.

    A run that is interrupted or killed is gone on with by the same command. Days that open
    transactions may still write to are left out. The exit code is 1 when a day failed.
    """
    if day is not None and older_than is not None:
        raise click.UsageError("Give --day or --older-than, not both.")
    past = timedelta(0) if older_than is None else written(older_than, "--older-than")
    with _arrow(), ledger_of(dsn, schema) as (conn, where), stoppable() as stop:
        from emq_sql.upkeep.export import places, run  # noqa: PLC0415  an extra
        from emq_sql.upkeep.export.day import DayExport, Sizes, Stopped  # noqa: PLC0415

        sizes = Sizes(part=part_rows, page=min(part_rows, Sizes().page))
        place = places.place(location)
        isolation.settle(conn)
        _at_home(conn, where)
        rows: list[dict[str, Any]] = []
        days = run.days(conn, where, day and day.date(), _until(conn, past))
        if day is not None and not days:
            raise ExportFailed(f"{day.date()} is not in the database: it has no partition.")
        for one in days:
            began = time.monotonic()
            work = DayExport(conn, where, place, one, sizes, _teller(began), lambda: stop.asked)
            try:
                if why := run.closed(conn, where, one, lambda: stop.asked):
                    rows.append({"day": str(one), "outcome": "left out", "detail": why})
                    continue
                outcome, count = work.export(drop=drop)
            except Stopped:
                break
            except EmqError as error:
                click.echo(f"emq: {one}: {printable(str(error))}", err=True)
                rows.append({"day": str(one), "outcome": "failed", "detail": error.code})
                if conn.closed:
                    break
            else:
                rows.append({"day": str(one), "outcome": outcome, **_measured(count, began)})
        show(rows, EXPORT, as_json=as_json)
        if stop.asked:
            click.echo("emq: interrupted; the same command goes on from here.", err=True)
            ctx.exit(INTERRUPTED)
    ctx.exit(1 if any(row["outcome"] == "failed" for row in rows) else 0)


@click.command("verify")
@database_options
@json_option
@click.argument("location")
@click.pass_context
def verify(ctx: click.Context, dsn: str | None, schema: str, as_json: bool, location: str) -> None:
    """Compare the files of LOCATION with their manifests.

    Files that no manifest has, left by exports that were killed, are named. With a database also
    with its records: a day that is damaged is marked there, and is not dropped until it is exported
    again or found whole. The exit code is 1 when something is damaged.
    """
    with _arrow():
        from emq_sql.upkeep.export import checking, places  # noqa: PLC0415  an extra

        place = places.place(location)
        rows = []
        with _records(dsn, schema, place.location) as (conn, records):
            folders = sorted({*checking.folders(place), *records})
            if not folders:
                raise ExportDamaged(f"There is no exported day in {place.location}.")
            for folder in folders:
                record = records.get(folder)
                found = checking.check_all(place, folder, record)
                for one in found:
                    if conn is not None and record is not None and one.recorded:
                        exporting.verified(conn, schema, record, one.damage)
                    of = one.manifest
                    rows.append({
                        "day": one.day, "ledger": of and of.ledger_id,
                        "version": of and of.version, "rows": of and of.rows,
                        "files": of and len(of.parts), "state": one.damage or "whole",
                    })  # fmt: skip
                _tell_of_strays(folder, checking.strays(place, folder, found))
    show(rows, VERIFY, as_json=as_json)
    ctx.exit(1 if any(row["state"] != "whole" for row in rows) else 0)


@click.command("import")
@database_options
@json_option
@click.option("--into", "table", required=True, help="A table outside the ledger's schema.")
@click.option("--ledger", default="", help="Of this ledger (its id), where there are several.")
@click.option("--manifest", default="", help="By this manifest, where there are several.")
@click.argument("location")
def import_(
    dsn: str | None, schema: str, as_json: bool, table: str, ledger: str, manifest: str,
    location: str,
) -> None:  # fmt: skip
    """Read an exported day into a table, for questions.

    LOCATION is the folder of the day. If several exports of it lie there that know nothing of one
    another, the one that this ledger has on record is read, or you say which.

    The table is made when it is missing. The files are checked first; all rows come, or none, and
    those that are there already do not come again.
    """
    with _arrow(), ledger_of(dsn, schema) as (conn, where):
        from emq_sql.upkeep.export import importing, places  # noqa: PLC0415  an extra

        place = places.place(location)
        done = importing.import_day(conn, where, place, table, ledger, manifest)
    show_one({"day": done.day, "rows": done.rows, "added": done.added}, as_json=as_json)


@contextmanager
def _arrow() -> Iterator[None]:
    if find_spec("pyarrow") is None:
        raise ArrowMissing(
            "Parquet files need pyarrow, which is not installed.",
            hint='Run: pip install "emq-sql[export]".',
        )
    yield


@contextmanager
def _records(
    dsn: str | None, schema: str, location: str
) -> Iterator[tuple[psycopg.Connection[Any] | None, dict[str, exporting.Exported]]]:
    if not dsn:
        yield None, {}
        return
    with ledger_of(dsn, schema) as (conn, where):
        found = exporting.records(conn, where, location)
        yield conn, {record.day.isoformat(): record for record in found}


def _tell_of_strays(folder: str, names: list[str]) -> None:
    if names:
        click.echo(
            f"emq: {folder or 'here'}: {len(names)} files that no export has: {', '.join(names)}."
            " Exports that were killed left them, or were given up. Readers of the whole folder"
            " would double their rows: move them away when no export is at work.", err=True,
        )  # fmt: skip


def _at_home(conn: psycopg.Connection[Any], schema: str) -> None:
    """A copy may know a place that is the original's, and its days are in it already."""
    if operating.at_home(conn, schema, None) == "no":
        raise EnvironmentMismatch(
            "This database is not where its workers first ran: it is a copy, or it has moved, and"
            " would export days of the original.",
            hint="A copy becomes one of its own by emq adopt; export it to another place then."
            " If it has moved, and is tagged, a worker of its environment makes it at home here.",
        )


def _until(conn: psycopg.Connection[Any], past: timedelta) -> date:
    """The last day that had ended so long ago, by the server's clock."""
    clock: datetime = reading.server(conn)["clock"]
    return (clock.astimezone(UTC) - past).date() - timedelta(1)


def _teller(began: float) -> Any:
    def tell(told: Told) -> None:
        if told.doing == "exporting":
            rate = told.new / max(time.monotonic() - began, 0.001)
            line = f"{told.rows:,} of {told.of:,} rows exported, {rate:,.0f} rows/s"
        else:
            line = f"{told.rows:,} rows to retire"
        click.echo(f"{told.day}: {line}", err=True)

    return tell


def _measured(rows: int, began: float) -> dict[str, Any]:
    seconds = time.monotonic() - began
    return {"rows": rows, "seconds": seconds, "rows_per_second": round(rows / max(seconds, 0.001))}
