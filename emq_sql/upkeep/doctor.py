"""What is well and what is not with a ledger and its server; each finding says what to do."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any

import psycopg

from emq_sql.protocol import operating, reading, steps
from emq_sql.upkeep import reaping, vacuum
from emq_sql.upkeep.finding import Finding, allowed

_OLDEST, _NEWEST = 15, 18
_CLOCK_WARN_SECONDS = 5.0


def examine(
    conn: psycopg.Connection[Any], schema: str, cron_dsn: str | None = None,
    reap_interval: timedelta | None = None,
) -> list[Finding]:  # fmt: skip
    """All findings, most general first; reads only. Ends early when there is no ledger to read.

    `cron_dsn` and `reap_interval` as in `reaping.examine`.
    """
    findings = [*_versions(conn), _clock(conn), _schema(conn, schema)]
    if findings[-1].state != "bad":
        findings.append(_ledger(conn, schema))
        findings += allowed("places", lambda: [_places(conn, schema)])
        findings += allowed("archive", lambda: _archive(conn, schema))
        findings += allowed("vacuum", lambda: vacuum.examine(conn, schema))
        findings += allowed("home", lambda: [_home(conn, schema)])
        findings += allowed(
            "last reap", lambda: reaping.examine(conn, schema, cron_dsn, reap_interval)
        )
    return findings


def _versions(conn: psycopg.Connection[Any]) -> Iterator[Finding]:
    ours = f"emq-sql {version('emq-sql')}, Python {platform.python_version()}"
    yield Finding(
        "client", "ok", f"{ours}, psycopg {psycopg.__version__}, libpq {psycopg.pq.version()}"
    )
    server = reading.server(conn)
    major = server["version_num"] // 10_000
    supported = _OLDEST <= major <= _NEWEST
    yield Finding(
        "server", "ok" if supported else "warn", f"PostgreSQL {server['version']}",
        "" if supported else f"Tested are {_OLDEST} to {_NEWEST}.",
    )  # fmt: skip
    if server["in_recovery"]:
        yield Finding(
            "role", "bad", "a standby", "Connect to the primary: jobs cannot be claimed here."
        )
    if server["default_isolation"] != "read committed":
        advice = "Workers claim in READ COMMITTED all the same, with two more statements a call."
        yield Finding("isolation", "warn", f"default is {server['default_isolation']}", advice)
    if server["encoding"] != "UTF8":
        advice = "Jobs with characters that it lacks are refused at enqueue (EMQ102)."
        yield Finding("encoding", "warn", f"the database is in {server['encoding']}", advice)
    if server["synchronous_commit"] == "off":
        yield Finding(
            "durability", "warn", "synchronous_commit is off",
            "A crash of the server may lose jobs whose enqueue was already answered.",
        )  # fmt: skip


def _clock(conn: psycopg.Connection[Any]) -> Finding:
    before = datetime.now(UTC)
    server = reading.server(conn)["clock"]
    middle = before + (datetime.now(UTC) - before) / 2
    apart = (middle - server).total_seconds()
    well = abs(apart) < _CLOCK_WARN_SECONDS
    return Finding(
        "clock", "ok" if well else "warn", f"{apart:+.3f} s against the server",
        "" if well else "Leases follow the server's clock alone, but ids carry this machine's:"
        " a day ahead, and they are refused.",
    )  # fmt: skip


def _schema(conn: psycopg.Connection[Any], schema: str) -> Finding:
    have, need = steps.current(conn, schema=schema), steps.newest()
    if have == need:
        return Finding("schema", "ok", f"{schema} at version {have}")
    if have == 0:
        return Finding("schema", "bad", f"no ledger in {schema}", "Run: emq schema upgrade.")
    advice = "Run: emq schema upgrade." if have < need else "Install a newer emq-sql."
    return Finding(
        "schema", "bad", f"{schema} at version {have}, this emq works with {need}", advice
    )


def _ledger(conn: psycopg.Connection[Any], schema: str) -> Finding:
    meta = reading.meta(conn, schema)
    return Finding(
        "ledger", "ok", f"{meta['ledger_id']}, environment {meta['environment'] or 'not tagged'}"
    )


def _places(conn: psycopg.Connection[Any], schema: str) -> Finding:
    lost = reading.misplaced(conn, schema)
    return Finding(
        "places", "bad" if lost else "ok", f"{len(lost)} jobs are not in exactly one place",
        "Somebody wrote to the tables by hand: look at the view misplaced." if lost else "",
    )  # fmt: skip


def _archive(conn: psycopg.Connection[Any], schema: str) -> Iterator[Finding]:
    kept = reading.retention(conn, schema)
    stray = kept["strays"]
    yield Finding(
        "archive", "warn" if stray else "ok",
        f"{'rows' if stray else 'no row'} outside the days' partitions",
        "No maintenance ran when they were written. They go row by row when they are past"
        " retention, and stay where export_first is set." if stray else "",
    )  # fmt: skip
    overdue = kept["overdue"]
    yield Finding(
        "retention", "warn" if overdue else "ok",
        f"{overdue} days of the archive are past every retention",
        "Where days are exported before they go: emq archive export. Else nobody tidies: workers,"
        " `emq maintain` and pg_cron do." if overdue else "",
    )  # fmt: skip


def _home(conn: psycopg.Connection[Any], schema: str) -> Finding:
    meta = reading.meta(conn, schema)
    if meta["environment"] is not None:
        return Finding("home", "ok", f"tagged for {meta['environment']}")
    here, home = operating.here(conn, schema), meta["home"]
    if here and home and here != home:
        return Finding(
            "home", "bad", "not where its workers first ran: a copy, or it has moved",
            "No worker starts here before emq adopt --hold, --discard or --run.",
        )  # fmt: skip
    return Finding(
        "home", "warn", "not tagged: a physical copy of it cannot be told from it",
        f"Run: select {schema}.tag('production'), and name the same in EMQ(environment=...).",
    )  # fmt: skip
