"""Whether vacuum comes to the hot tables, and who holds it up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg

from emq_sql.protocol import vacuuming
from emq_sql.upkeep.finding import Finding

MANY_DEAD = 100_000  # rows; a table in use has some thousands between two vacuums
LONG = 300.0  # seconds that a transaction is open
FAR = 1_000_000  # transactions, where nobody knows the seconds


def examine(conn: psycopg.Connection[Any], schema: str) -> Iterator[Finding]:
    """`vacuum` and `oldest snapshot`. Neither slows claims down: what grows is the disk."""
    held = vacuuming.holders(conn)
    old = next((one for one in held if _is_old(one)), None)
    yield _tables(vacuuming.tables(conn, schema), held_up=old is not None)
    yield _snapshot(old or next(iter(held), None), old=old is not None)


def _tables(tables: list[dict[str, Any]], *, held_up: bool) -> Finding:
    found = "; ".join(
        f"{t['name']}: {t['dead']} dead of {t['dead'] + t['live']} rows,"
        f" {_ago(t['seconds'])}" for t in tables
    )  # fmt: skip
    many = any(t["dead"] > max(MANY_DEAD, t["live"]) for t in tables)
    if not many:
        return Finding("vacuum", "ok", found)
    advice = "See oldest snapshot." if held_up else (
        "Autovacuum does not come: is it on, and has it workers left (autovacuum_max_workers)?"
        " VACUUM the tables by hand meanwhile."
    )  # fmt: skip
    return Finding("vacuum", "warn", found, advice)


def _snapshot(oldest: dict[str, Any] | None, *, old: bool) -> Finding:
    if oldest is None:
        return Finding("oldest snapshot", "ok", "none but this one")
    since = f"for {oldest['seconds']:.0f} s" if oldest["seconds"] is not None else (
        f"for {oldest['transactions']} transactions"
    )  # fmt: skip
    owner = f" of {oldest['role']}" if oldest["role"] else ""
    found = f"{oldest['kind']} {oldest['name']} ({oldest['what']}{owner}), {since}"
    if not old:
        return Finding("oldest snapshot", "ok", found)
    ends = {
        "session": f"select pg_terminate_backend({oldest['name']}) ends it.",
        "prepared": f"COMMIT PREPARED or ROLLBACK PREPARED '{oldest['name']}' ends it.",
        "slot": "Let its reader catch up, or drop it: pg_drop_replication_slot.",
    }[oldest["kind"]]
    said = "No row that was deleted since then can be vacuumed: claims stay fast, the disk fills. "
    return Finding("oldest snapshot", "warn", found, said + ends)


def _is_old(holder: dict[str, Any]) -> bool:
    if holder["seconds"] is None:
        return bool(holder["transactions"] > FAR)
    return bool(holder["seconds"] > LONG)


def _ago(seconds: float | None) -> str:
    return "never vacuumed" if seconds is None else f"vacuumed {seconds:.0f} s ago"
