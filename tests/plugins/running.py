"""Starts the PostgreSQL that was chosen, once for the whole run."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass

import psycopg
from psycopg import sql

from emq_sql.embedded import start
from tests.plugins.choice import Choice, image

OPTIONS = {"max_connections": 200}
PREPARED_TRANSACTIONS = 20

_DOCKER_COMMAND = (
    "postgres -c fsync=off -c full_page_writes=off "
    f"-c max_connections={OPTIONS['max_connections']} "
    f"-c max_prepared_transactions={PREPARED_TRANSACTIONS}"
)


@dataclass(frozen=True, slots=True)
class PgServer:
    """The server of this run: dsn names its maintenance database, which tests leave alone.

    run is a word that is part of the name of each database that this run creates.
    """

    dsn: str
    major: int
    version: str
    choice: str
    run: str

    def as_dict(self) -> dict[str, str | int]:
        """Plain data, for the workers of a parallel run."""
        return asdict(self)


def run(choice: Choice) -> tuple[PgServer, Callable[[], None]]:
    """Start the server (or reach the one named); it, and what stops it."""
    if choice.name == "dsn":
        dsn = os.environ["EMQ_SQL_TEST_DSN"].replace("postgresql+psycopg://", "postgresql://", 1)
        server = _describe(dsn, choice)
        return server, lambda: _drop_scratch_databases(server)
    if choice.name == "docker":
        from testcontainers.community.postgres import PostgresContainer

        container = PostgresContainer(image(), driver=None).with_command(_DOCKER_COMMAND).start()
        return _describe(container.get_connection_url(driver=None), choice), container.stop
    prefer = None if choice.name == "bindir" else choice.name
    own = start(options=OPTIONS, prepared_transactions=PREPARED_TRANSACTIONS, prefer=prefer)
    return _describe(own.dsn, choice), own.stop


def _describe(dsn: str, choice: Choice) -> PgServer:
    with psycopg.connect(dsn) as connection:
        number = connection.info.server_version
        version = connection.info.parameter_status("server_version") or str(number)
    return PgServer(dsn, number // 10000, version, choice.name, secrets.token_hex(4))


def _drop_scratch_databases(server: PgServer) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        left = connection.execute(
            "select datname from pg_database where starts_with(datname, %s)",
            [f"emq_test_{server.run}_"],
        )
        for (name,) in left.fetchall():
            connection.execute(
                sql.SQL("drop database {} with (force)").format(sql.Identifier(name))
            )
