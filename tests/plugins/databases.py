"""A database of its own for each test, copied from a template that holds the schema."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tests.plugins.running import PgServer


@dataclass(frozen=True, slots=True)
class Database:
    """A scratch database; it and all sessions to it end with the test."""

    dsn: str
    name: str
    opened: list[psycopg.Connection[Any]] = field(default_factory=list, repr=False)

    def connect(self, **given: Any) -> psycopg.Connection[Any]:
        """A new connection, autocommit unless told otherwise; closed at the end of the test."""
        connection = psycopg.connect(self.dsn, **{"autocommit": True} | given)
        self.opened.append(connection)
        return connection


@contextmanager
def scratch(
    server: PgServer, template: str | None = None, encoding: str | None = None
) -> Iterator[Database]:
    """A new database, empty or like the template, dropped at the end whoever still uses it."""
    in_encoding = f" encoding '{encoding}' lc_collate 'C' lc_ctype 'C'" if encoding else ""
    name = f"emq_test_{server.run}_{secrets.token_hex(4)}"
    with psycopg.connect(server.dsn, autocommit=True) as maintenance:
        _run(
            maintenance,
            "create database {} template {} strategy file_copy" + in_encoding,
            name,
            template or "template0",
        )
    database = Database(url(server.dsn, name), name)
    try:
        yield database
    finally:
        for connection in database.opened:
            connection.close()
        with psycopg.connect(server.dsn, autocommit=True) as maintenance:
            _end_sessions(maintenance, name)
            _forget_prepared(database)
            _run(maintenance, "drop database {} with (force)", name)


def misplaced(database: Database) -> list[Any]:
    """The jobs that are in no place, or in more than one: there must be none at any commit."""
    with psycopg.connect(database.dsn, options="-c lock_timeout=10s") as reader:
        return reader.execute("select * from emq.misplaced").fetchall()


def template_with_schema(server: PgServer) -> str:
    """The name of the template database of this run, made by whichever process asks first."""
    # Imported late: the tests of the embedded server need no schema.
    from tests.mutants.installing import install_schema

    name = f"emq_test_{server.run}_template"
    with psycopg.connect(server.dsn, autocommit=True) as maintenance:
        maintenance.execute("select pg_advisory_lock(hashtext(%s))", [name])
        exists = maintenance.execute("select from pg_database where datname = %s", [name])
        if exists.fetchone() is None:
            # Renamed when it is complete: a template that failed half way is never copied.
            unfinished = f"{name}_unfinished"
            _run(maintenance, "drop database if exists {}", unfinished)
            _run(maintenance, "create database {} template template0", unfinished)
            with psycopg.connect(url(server.dsn, unfinished)) as connection:
                install_schema(connection)
            _run(maintenance, "alter database {} rename to {}", unfinished, name)
            _run(maintenance, "alter database {} allow_connections false", name)
    return name


def url(dsn: str, database: str) -> str:
    """The same address with another database, always as a URL."""
    parts: dict[str, str] = {k: str(v) for k, v in conninfo_to_dict(dsn).items() if v is not None}
    parts.pop("dbname", None)
    user, password = (quote(parts.pop(name, ""), safe="") for name in ("user", "password"))
    login = user + (f":{password}" if password else "") + ("@" if user else "")
    # Host and port as parameters: so they may be a socket directory or a list.
    return f"postgresql://{login}/{quote(database)}?{urlencode(parts, safe='/')}"


def _run(connection: psycopg.Connection[Any], statement: str, *names: str) -> None:
    identifiers = [sql.Identifier(name) for name in names]
    connection.execute(sql.SQL(statement).format(*identifiers))


def _end_sessions(maintenance: psycopg.Connection[Any], name: str) -> None:
    maintenance.execute(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = %s", [name]
    )


def _forget_prepared(database: Database) -> None:
    # A prepared transaction outlives its session, and a database that has one cannot be dropped.
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        left = connection.execute(
            "select gid from pg_prepared_xacts where database = current_database()"
        )
        for (gid,) in left.fetchall():
            connection.execute(sql.SQL("rollback prepared {}").format(sql.Literal(gid)))
