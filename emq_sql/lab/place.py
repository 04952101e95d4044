"""Where the lab runs: a PostgreSQL of its own, or a schema of its own in a given database."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from emq_sql.embedded import start
from emq_sql.lab.statements import TABLES, statement
from emq_sql.protocol import connecting, reading, steps
from emq_sql.protocol.troubles import named

LONGEST = 3600.0  # seconds that a run may take: what is older is left of one that was killed

_MARK = "made by emq lab for one run at {}; it may be dropped"
_LEFT = """
select n.nspname from pg_catalog.pg_namespace n
 cross join lateral pg_catalog.obj_description(n.oid, 'pg_namespace') d (comment)
 cross join lateral substring(d.comment, '^made by emq lab for one run at (\\S+);') m (at)
 where n.nspname ~ '^emq_lab_[0-9a-f]{8}$' and pg_catalog.pg_has_role(n.nspowner, 'usage')
   and m.at::timestamptz < clock_timestamp() - interval '1 hour'
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A database with a ledger and the lab's tables in one schema."""

    dsn: str
    schema: str
    about: str


@contextmanager
def place(dsn: str | None, say: Callable[[str], None]) -> Iterator[Place]:
    """A place that is ready for a run, and gone after the block.

    Without `dsn` it is a PostgreSQL that ends with us. In a given database it is a new schema,
    `emq_lab_` and eight digits; of a run that is killed it stays, with a comment that says so, and
    is dropped by the next run that finds it when no run of that age can be alive.
    """
    if dsn is None:
        with start() as server, _schema(server.dsn, "emq") as found:
            yield found
    else:
        _drop_left(dsn, say)
        schema = f"emq_lab_{secrets.token_hex(4)}"
        say(f"the schema is {schema}; if this is killed, `drop schema {schema} cascade` removes it")
        with _schema(dsn, schema) as found:
            yield found


def _drop_left(dsn: str, say: Callable[[str], None]) -> None:
    engine = connecting.engine_for(dsn)
    with named(), connecting.dedicated(engine) as conn:
        for (schema,) in conn.execute(_LEFT.encode()).fetchall():
            try:
                with conn.transaction():
                    conn.execute("set local lock_timeout = '2s'")
                    _drop(conn, schema)
            except psycopg.Error as error:
                say(f"the schema {schema} was left by a run that was killed, and stays: {error}")
            else:
                say(f"the schema {schema} was left by a run that was killed, and is dropped")
    engine.dispose()


def _drop(conn: psycopg.Connection[Any], schema: str) -> None:
    conn.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(schema)))


@contextmanager
def _schema(dsn: str, schema: str) -> Iterator[Place]:
    engine = connecting.engine_for(dsn)
    with named(), connecting.dedicated(engine) as conn:
        with conn.transaction():
            steps.upgrade(conn, schema=schema)
            for table in TABLES:
                conn.execute(statement(table, schema).encode())
            (now,) = conn.execute(
                "select to_char(clock_timestamp(), 'YYYY-MM-DD\"T\"HH24:MI:SSOF')"
            ).fetchone() or ("",)
            mark = sql.SQL("comment on schema {} is {}").format(
                sql.Identifier(schema), sql.Literal(_MARK.format(now))
            )
            conn.execute(mark)
        about = f"PostgreSQL {reading.server(conn)['version']}"
    try:
        yield Place(dsn, schema, about)
    finally:
        with named(), connecting.dedicated(engine) as conn:
            _drop(conn, schema)
