"""Where the lab runs: a PostgreSQL of its own, or a schema of its own in a given database."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg import sql

from emq_sql.embedded import start
from emq_sql.lab.statements import TABLES, statement
from emq_sql.protocol import connecting, reading, steps
from emq_sql.protocol.troubles import named

_MARK = "made by emq lab for one run; it may be dropped"


@dataclass(frozen=True, slots=True)
class Place:
    """A database with a ledger and the lab's tables in one schema."""

    dsn: str
    schema: str
    about: str


@contextmanager
def place(dsn: str | None) -> Iterator[Place]:
    """A place that is ready for a run, and gone after the block.

    Without `dsn` it is a PostgreSQL that ends with us. In a given database it is a new schema,
    `emq_lab_` and eight digits; of a run that is killed it stays, with a comment that says so.
    """
    if dsn is None:
        with start() as server, _schema(server.dsn, "emq") as found:
            yield found
    else:
        with _schema(dsn, f"emq_lab_{secrets.token_hex(4)}") as found:
            yield found


@contextmanager
def _schema(dsn: str, schema: str) -> Iterator[Place]:
    engine = connecting.engine_for(dsn)
    with named(), connecting.dedicated(engine) as conn:
        with conn.transaction():
            steps.upgrade(conn, schema=schema)
            for table in TABLES:
                conn.execute(statement(table, schema).encode())
            conn.execute(
                sql.SQL("comment on schema {} is {}").format(
                    sql.Identifier(schema), sql.Literal(_MARK)
                )
            )
        about = f"PostgreSQL {reading.server(conn)['version']}"
    try:
        yield Place(dsn, schema, about)
    finally:
        with named(), connecting.dedicated(engine) as conn:
            conn.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(schema)))
