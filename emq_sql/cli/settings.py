"""queue and settings: what is set for one queue, and for the whole ledger."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import click

from emq_sql.cli.context import database_options, json_option, label_option, ledger_of
from emq_sql.cli.output import show_one
from emq_sql.protocol import settings
from emq_sql.rules import names
from emq_sql.rules import settings as rules
from emq_sql.rules.durations import in_units


@click.group()
def queue() -> None:
    """Show and set what is set for one queue."""


@queue.command("show")
@database_options
@json_option
@click.argument("name")
def show_queue(dsn: str | None, schema: str, as_json: bool, name: str) -> None:
    """All settings of the queue NAME; `-` where nothing is set."""
    names.queue_name(name)
    with ledger_of(dsn, schema) as (conn, where):
        _show(settings.queue(conn, where, name), as_json=as_json)


@queue.command("set")
@database_options
@label_option
@json_option
@click.argument("name")
@click.argument("words", metavar="SETTING=VALUE...", nargs=-1, required=True)
def set_queue(
    dsn: str | None, schema: str, label: str | None, as_json: bool, name: str,
    words: tuple[str, ...],
) -> None:  # fmt: skip
    """Set what is named for the queue NAME, and show all. `none` resets a setting.

    Durations are written like 30s, 15m, 2h or 7d.
    """
    names.queue_name(name)
    given = rules.parsed(words)
    with ledger_of(dsn, schema) as (conn, where):
        settings.set_queue(conn, where, name, given, label)
        _show(settings.queue(conn, where, name), as_json=as_json)


@click.group("settings")
def ledger_settings() -> None:
    """Show and set what is set for the whole ledger."""


@ledger_settings.command("show")
@database_options
@json_option
def show_ledger(dsn: str | None, schema: str, as_json: bool) -> None:
    """How long history, audit and keys of the inbox are kept, and whether a day must be exported
    before it goes.
    """
    with ledger_of(dsn, schema) as (conn, where):
        _show(settings.ledger(conn, where), as_json=as_json)


@ledger_settings.command("set")
@database_options
@label_option
@json_option
@click.argument("words", metavar="SETTING=VALUE...", nargs=-1, required=True)
def set_ledger(
    dsn: str | None, schema: str, label: str | None, as_json: bool, words: tuple[str, ...]
) -> None:
    """Set what is named, and show all. `none` resets a setting to its default."""
    given = rules.parsed(words, rules.LEDGER)
    with ledger_of(dsn, schema) as (conn, where):
        settings.set_ledger(conn, where, given, label)
        _show(settings.ledger(conn, where), as_json=as_json)


def _show(row: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_one(row, as_json=True)
        return
    plain = {
        key: in_units(value) if isinstance(value, timedelta) else value
        for key, value in row.items()
    }
    if plain.get("replay_within") == in_units(timedelta(0)):
        plain["replay_within"] = rules.NEVER
    show_one(plain, as_json=False)
