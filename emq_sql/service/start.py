"""What is checked before anything is claimed, and the line that says how the worker starts."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import psycopg

from emq_sql.errors import Ambiguous, BadSetting, EmqError, Retryable
from emq_sql.protocol import rights, steps
from emq_sql.protocol.link import Connect, Link
from emq_sql.service.belonging import require_home
from emq_sql.worker.health.report import Facts
from emq_sql.worker.identity import version
from emq_sql.worker.settings import WorkerSettings

LIMIT = 10.0  # seconds for the checks, and as many to name the connection for them

_POOLS_STATEMENTS = "statement pooling mode"  # as PgBouncer says it
_GRANT = "Grant the worker's role emq_worker (emq schema roles makes the roles)."
_GRANT_UPKEEP = "Grant the role emq_operator or emq_worker (emq schema roles makes the roles)."


def checked(connect: Connect, schema: str, environment: str | None) -> str:
    """The server's version, after the schema's version, the environment and the role's rights were
    found to fit, and that a transaction can be had.

    Reads one row of `meta`, whatever the ledger has behind it, and keeps there where it is if
    nobody has yet. Takes about half a minute at most.
    Raises SchemaMissing, SchemaTooOld, SchemaTooNew, EnvironmentMismatch, BadSetting (rights, a
    pooler of statements), or a DatabaseTrouble: Retryable when there was no answer in time.
    """
    return _asked(connect, lambda conn: _found_to_fit(conn, schema, environment), _GRANT)


def checked_for_upkeep(connect: Connect, schema: str) -> str:
    """The same for upkeep alone, which runs no job, whatever the environment."""
    return _asked(
        connect, lambda conn: _may(conn, schema, rights.TO_MAINTAIN, _GRANT_UPKEEP), _GRANT_UPKEEP
    )


def _asked(connect: Connect, look: Callable[[psycopg.Connection[Any]], str], grant: str) -> str:
    link = Link(connect, "emq start", LIMIT)
    try:
        return link.call(look)
    except EmqError as error:
        if _POOLS_STATEMENTS in error.what.lower():
            raise BadSetting(
                "A pooler in statement mode is in front of the database: no transactions there.",
                hint="Set its pool_mode to transaction (or session), or lead past it.",
            ) from error
        if isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
            raise BadSetting(error.what, hint=grant) from error
        if isinstance(error, Ambiguous):  # nothing was written
            raise Retryable(error.what, hint="Nothing was claimed: start again.") from error
        raise
    finally:
        link.close()


def _found_to_fit(connection: psycopg.Connection[Any], schema: str, environment: str | None) -> str:
    server = _may(connection, schema, rights.TO_WORK, _GRANT)
    require_home(connection, schema, environment)
    return server


def _may(
    connection: psycopg.Connection[Any], schema: str, needed: Sequence[str], grant: str
) -> str:
    role, forbidden = rights.missing(connection, schema, needed)
    if forbidden:
        names = ", ".join(f"{schema}.{name}" for name in forbidden)
        raise BadSetting(f'The role "{role}" may not execute {names}.', hint=grant)
    with connection.transaction():
        steps.require_newest(connection, schema=schema)
    return connection.info.parameter_status("server_version") or "of unknown version"


def facts(
    server: str, schema: str, settings: WorkerSettings, worker: str, connections: int
) -> Facts:
    """What a worker can say of itself from its start on."""
    return Facts(
        worker=worker,
        queues=settings.queues,
        kind="threads and an event loop" if settings.processes is None else "processes",
        connections=connections,
        versions={
            "emq_sql": version(),
            "python": platform.python_version(),
            "psycopg": psycopg.__version__,
            "libpq": _libpq(psycopg.pq.version()),
            "postgresql": server,
            "schema": schema,
            "schema_version": steps.newest(),
        },
    )


def first_line(known: Facts, settings: WorkerSettings) -> str:
    """Versions, queues, slots, connections and patience, on one line."""
    at = known.versions
    lease = "of the job or its queue" if settings.lease is None else _seconds(settings.lease)
    return (
        f"emq_sql {at['emq_sql']}, Python {at['python']}, psycopg {at['psycopg']},"
        f" libpq {at['libpq']}, PostgreSQL {at['postgresql']}, schema {at['schema']} version"
        f" {at['schema_version']}; worker {known.worker}: queues {','.join(known.queues)},"
        f" {settings.slots} slots ({known.kind}), at most {known.connections} connections, poll"
        f" {_seconds(settings.poll)}, grace {_seconds(settings.grace)}, lease {lease}"
    )


def _seconds(length: timedelta) -> str:
    return f"{length.total_seconds():g} s"


def _libpq(number: int) -> str:
    return f"{number // 10000}.{number % 10000}"
