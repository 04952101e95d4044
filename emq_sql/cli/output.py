"""How the command prints: aligned columns for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

import click

from emq_sql.rules.printable import printable

_NUMBERS = (int, float)


def show(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], *, as_json: bool) -> None:
    """Print rows as a table of the given columns (key: title), or whole as a JSON array."""
    if as_json:
        click.echo(json.dumps([dict(row) for row in rows], default=plain, indent=2))
        return
    click.echo("\n".join(table(rows, columns)))


def show_one(row: Mapping[str, Any], *, as_json: bool) -> None:
    """Print one row as `name  value` lines, or as a JSON object."""
    if as_json:
        click.echo(json.dumps(dict(row), default=plain, indent=2))
        return
    width = max(len(key) for key in row)
    for key, value in row.items():
        click.echo(f"{key.ljust(width)}  {cell(value)}")


def table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> list[str]:
    """The lines of an aligned table: titles first, numbers to the right.

    Only the last column may have texts of several lines.
    """
    titles = list(columns.values())
    body = []
    for row in rows:
        *cells, last = [cell(row.get(key)) for key in columns]
        cells = [text.replace("\n", "\\n") for text in cells]
        first, *more = last.split("\n")
        body += [[*cells, first], *([*[""] * len(cells), line] for line in more)]
    widths = [max(len(line[n]) for line in [titles, *body]) for n in range(len(titles))]
    right = [
        all(isinstance(row.get(key), (*_NUMBERS, type(None))) for row in rows) and bool(rows)
        for key in columns
    ]
    return [
        "  ".join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in [titles, *body]
    ]


def cell(value: Any) -> str:
    """One value for people: short times, one decimal, `-` for nothing."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, datetime):
        return value.astimezone().isoformat(sep=" ", timespec="milliseconds")
    if isinstance(value, (dict, list)):
        return printable(json.dumps(value, default=plain, ensure_ascii=False))
    return printable(str(value))


def plain(value: Any) -> Any:
    """What JSON has no word for."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
