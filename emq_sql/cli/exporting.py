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
from emq_sql.errors import ArrowMissing, ExportDamaged, ExportError
from emq_sql.protocol import exporting, reading
from emq_sql.rules.durations import written
from emq_sql.rules.printable import printable

if TYPE_CHECKING:
    from emq_sql.upkeep.export.day import Told

EXPORT = {
    "day": "day", "outcome": "outcome", "rows": "rows written", "seconds": "s",
    "rows_per_second": "rows/s", "detail": "",
}  # fmt: skip
VERIFY = {"day": "day", "version": "version", "rows": "rows", "files": "files", "state": "state"}


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
        rows: list[dict[str, Any]] = []
        for one in run.days(conn, where, day and day.date(), _until(conn, past)):
            if why := run.closed(conn, where, one, lambda: stop.asked):
                rows.append({"day": str(one), "outcome": "left out", "detail": why})
                continue
            began = time.monotonic()
            work = DayExport(conn, where, place, one, sizes, _teller(began), lambda: stop.asked)
            try:
                outcome, count = work.export(drop=drop)
            except Stopped:
                break
            except ExportError as error:
                click.echo(f"emq: {printable(str(error))}", err=True)
                rows.append({"day": str(one), "outcome": "failed", "detail": error.code})
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

    The exit code is 1 when something is damaged. With a database also with its records: a day
    that is damaged is marked there, and is not dropped until it is exported again or found whole.
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
                found = checking.check(place, folder, record)
                if conn is not None and record is not None:
                    exporting.verified(conn, schema, record.day, place.location, found.damage)
                of = found.manifest
                rows.append({
                    "day": found.day, "version": of and of.version, "rows": of and of.rows,
                    "files": of and len(of.parts), "state": found.damage or "whole",
                })  # fmt: skip
    show(rows, VERIFY, as_json=as_json)
    ctx.exit(1 if any(row["state"] != "whole" for row in rows) else 0)


@click.command("import")
@database_options
@json_option
@click.option("--into", "table", required=True, help="A table outside the ledger's schema.")
@click.argument("location")
def import_(dsn: str | None, schema: str, as_json: bool, table: str, location: str) -> None:
    """Read an exported day into a table, for questions.

    LOCATION is the folder of the day.

    The table is made when it is missing. The files are checked first; all rows come, or none, and
    those that are there already do not come again.
    """
    with _arrow(), ledger_of(dsn, schema) as (conn, where):
        from emq_sql.upkeep.export import importing, places  # noqa: PLC0415  an extra

        done = importing.import_day(conn, where, places.place(location), table)
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
