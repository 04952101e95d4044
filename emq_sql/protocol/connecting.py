"""Engines and connections of our own: never a caller's, always autocommit, no prepared statements.

Prepared statements are off because a transaction pooler older than PgBouncer 1.21 cannot keep them.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import sqlalchemy
from sqlalchemy.engine import URL, Engine
from sqlalchemy.engine import Connection as SQLAlchemyConnection

from emq_sql.errors import BadSetting, UnsupportedHandle
from emq_sql.protocol.troubles import translate

_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")


def engine_for(database: str | URL | Engine) -> Engine:
    """An Engine on psycopg 3 for a URL, a libpq DSN, or the engine given.

    Connects to nothing yet. Raises BadSetting for a URL of another database, UnsupportedHandle for
    an engine with another driver.
    """
    if isinstance(database, Engine):
        if database.dialect.driver != "psycopg":
            raise UnsupportedHandle(
                f"The engine's driver is {database.dialect.driver}; emq_sql speaks psycopg 3.",
                hint='Make it with the URL scheme "postgresql+psycopg://".',
            )
        return database
    return _forgotten_by_children(_made(database))


def _made(database: str | URL) -> Engine:
    settings: dict[str, Any] = {"prepare_threshold": None}
    if isinstance(database, str) and "://" not in database:
        if "=" not in database:
            raise BadSetting(
                "The database setting is neither a URL nor a DSN of key=value pairs.",
                hint='For example "postgresql://user@host/name" or "host=... dbname=...".',
            )
        return sqlalchemy.create_engine(
            "postgresql+psycopg://", creator=lambda: psycopg.connect(database, **settings)
        )
    try:
        url = sqlalchemy.make_url(database)
    except sqlalchemy.exc.ArgumentError:
        raise BadSetting(
            "The database URL cannot be read.", hint='Write it as "postgresql://user@host/name".'
        ) from None
    if url.drivername not in _SCHEMES:
        raise BadSetting(
            f"The database URL begins with {url.drivername}://, and emq_sql needs PostgreSQL"
            " with psycopg 3.",
            hint='Use "postgresql+psycopg://" (or "postgresql://").',
        )
    if "application_name" not in url.query:
        settings["application_name"] = "emq_sql"
    return sqlalchemy.create_engine(url.set(drivername="postgresql+psycopg"), connect_args=settings)


def _forgotten_by_children(engine: Engine) -> Engine:
    """A forked child must not share its parent's sockets: it starts with an empty pool."""
    reference = weakref.ref(engine)

    def forget() -> None:
        if (mine := reference()) is not None:
            mine.dispose(close=False)

    os.register_at_fork(after_in_child=forget)
    return engine


@contextmanager
def borrowed(engine: Engine) -> Iterator[psycopg.Connection[Any]]:
    """A connection from the pool in autocommit, so that each statement is its own transaction.

    Raises Retryable when the server cannot be reached. A connection that broke does not go back
    to the pool.
    """
    connection = _checked_out(engine).execution_options(isolation_level="AUTOCOMMIT")
    try:
        yield _driver(connection)
    finally:
        if _driver(connection).broken:
            connection.invalidate()
        connection.close()


def dedicated(engine: Engine) -> psycopg.Connection[Any]:
    """A new autocommit connection that belongs to the caller and is not in any pool.

    Made through the engine, so that its events (a password fetched at connect, say) take part.
    """
    connection = _checked_out(engine)
    driver = _driver(connection)
    connection.detach()
    driver.rollback()
    driver.autocommit = True
    return driver


def _checked_out(engine: Engine) -> SQLAlchemyConnection:
    try:
        return engine.connect()
    except sqlalchemy.exc.DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise translate(error.orig) from error
        raise


def _driver(connection: SQLAlchemyConnection) -> psycopg.Connection[Any]:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver
