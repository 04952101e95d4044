"""The settings of a queue and of the ledger, by name: shown, set and reset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from emq_sql.errors import BadName, BadSetting
from emq_sql.protocol.adapt import cursor, legible, naming
from emq_sql.protocol.troubles import named

# A queue without a row has the defaults of the columns.
_QUEUE = """
select coalesce(q.paused, false) as paused, coalesce(q.lease, '30 s') as lease,
       coalesce(q.max_attempts, 25) as max_attempts, coalesce(q.max_stalled, 3) as max_stalled,
       q.max_active, q.retention, q.cancelled_retention, q.dead_retention, q.replay_within,
       q.unknown_after, q.quarantine, q.quarantine_after, q.on_dead, q.on_dead_queue
  from (select %s as name) n left join {schema}.queue q on q.name = n.name
"""
_LEDGER = "select retention, audit_retention, inbox_retention, export_first from {schema}.meta"


def queue(conn: psycopg.Connection[Any], schema: str, name: str) -> dict[str, Any]:
    """All settings of a queue; None where nothing is set."""
    return _one(conn, _QUEUE.format(schema=schema), [name])


def ledger(conn: psycopg.Connection[Any], schema: str) -> dict[str, Any]:
    """The settings of the ledger itself."""
    return _one(conn, _LEDGER.format(schema=schema), [])


def set_queue(
    conn: psycopg.Connection[Any], schema: str, name: str, settings: Mapping[str, Any],
    label: str | None = None,
) -> None:  # fmt: skip
    """Set what is named of a queue's settings, as `rules.settings` wrote it; None resets one.

    Raises BadSetting for what cannot stand beside another one.
    """
    _set(conn, f"select {schema}.set_queue(%s, %s, %s)", [name, Jsonb(dict(settings)), label])


def set_ledger(
    conn: psycopg.Connection[Any], schema: str, settings: Mapping[str, Any],
    label: str | None = None,
) -> None:  # fmt: skip
    """Set what is named of the ledger's settings; None resets one. Raises BadSetting."""
    _set(conn, f"select {schema}.set_ledger(%s, %s)", [Jsonb(dict(settings)), label])


def _set(conn: psycopg.Connection[Any], query: str, params: list[Any]) -> None:
    try:
        with naming(conn), cursor(conn) as c:
            c.execute(query.encode(), params)
    except BadName as error:  # EQ006 is the code of both, and the queue's name has been checked
        raise BadSetting(error.what, hint=error.hint) from error.__cause__


def _one(conn: psycopg.Connection[Any], query: str, params: list[Any]) -> dict[str, Any]:
    with named(), legible(psycopg.Cursor(conn, row_factory=dict_row)) as c:
        row = c.execute(query.encode(), params).fetchone()
    assert row is not None
    return row
