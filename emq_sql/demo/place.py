"""Where the demo runs: a PostgreSQL of its own, one that stays, or schemas in a given database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from emq_sql.demo.queries import TABLES, Schemas
from emq_sql.embedded import dev_db, start
from emq_sql.errors import BadSetting
from emq_sql.protocol import connecting, reading, steps
from emq_sql.protocol.troubles import named

IN_A_GIVEN_DATABASE = Schemas("emq_demo", "emq_demo_files")
_MARK = "made by emq demo"


@dataclass(frozen=True, slots=True)
class Place:
    """A database with the demo's schemas in it; `stop` is the command that ends what stays."""

    dsn: str
    schemas: Schemas
    about: str
    stop: str | None = None


@contextmanager
def place(dsn: str | None, *, keep: bool, data: Path | None, reset: bool) -> Iterator[Place]:
    """A place that is ready for a run, and gone after the block unless `keep`.

    Without `dsn` it is a PostgreSQL that ends with us, with its usual durable settings; with `keep`
    one in `data` (or beside the development database) that outlives us, except after an
    interruption. In a given database only schemas of the demo's own are made and dropped. Raises
    BadSetting when they are there already, unless `reset` and they are the demo's.
    """
    if dsn is not None:
        found = Place(dsn, IN_A_GIVEN_DATABASE, "")
        with _schemas(found, keep=keep, reset=reset) as about:
            yield Place(dsn, found.schemas, about)
    elif keep:
        where = data or dev_db.default_directory().with_name("demo")
        with _kept(where) as kept, _schemas(Place(kept, Schemas(), ""), True, reset) as about:
            yield Place(kept, Schemas(), about, f"emq dev-db stop --dir {where}")
    else:
        with start(durable=True) as server:
            own = Place(server.dsn, Schemas(), "")
            with _schemas(own, True, reset) as about:
                yield Place(server.dsn, Schemas(), f"{about} of its own")


@contextmanager
def _kept(where: Path) -> Iterator[str]:
    running = dev_db.start(where)
    assert running.dsn is not None
    try:
        yield running.dsn
    except BaseException:
        if running.started:
            dev_db.stop(where)
        raise


@contextmanager
def _schemas(found: Place, keep: bool, reset: bool) -> Iterator[str]:
    engine = connecting.engine_for(found.dsn)
    with named(), connecting.dedicated(engine) as conn:
        _refuse_or_reset(conn, found, reset)
        _make(conn, found.schemas)
        about = _about(conn)
    try:
        yield about
    finally:
        if not keep:
            with named(), connecting.dedicated(engine) as conn:
                _drop(conn, found.schemas)


def _make(conn: psycopg.Connection[Any], schemas: Schemas) -> None:
    with conn.transaction():
        steps.upgrade(conn, schema=schemas.ledger)
        conn.execute(sql.SQL("create schema {}").format(sql.Identifier(schemas.files)))
        for table in TABLES:
            conn.execute(schemas.text(table).encode())
        for name in (schemas.ledger, schemas.files):
            conn.execute(
                sql.SQL("comment on schema {} is {}").format(
                    sql.Identifier(name), sql.Literal(_MARK)
                )
            )


def _refuse_or_reset(conn: psycopg.Connection[Any], found: Place, reset: bool) -> None:
    there = conn.execute(
        "select nspname, obj_description(oid, 'pg_namespace') from pg_namespace"
        " where nspname = any (%s)",
        [[found.schemas.ledger, found.schemas.files]],
    ).fetchall()
    for name, comment in there:
        if comment != _MARK:
            raise BadSetting(
                f'There is a schema "{name}" here that the demo did not make; it is left alone.',
                hint="Rename it, or give the demo another database.",
            )
    if there and not reset:
        raise BadSetting(
            f'The schema "{there[0][0]}" of an earlier demo is here.',
            hint="Give --reset to drop what that demo made and begin anew.",
        )
    if there:
        _drop(conn, found.schemas)


def _drop(conn: psycopg.Connection[Any], schemas: Schemas) -> None:
    for name in (schemas.files, schemas.ledger):
        conn.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(name)))


def _about(conn: psycopg.Connection[Any]) -> str:
    fsync = conn.execute("show fsync").fetchone()
    return f"PostgreSQL {reading.server(conn)['version']} (fsync {fsync[0] if fsync else '?'})"
