"""Engines and connections of our own: never a caller's, always autocommit.

They speak UTF8 whatever the environment says (PGCLIENTENCODING) and whatever the database is in.
Statements are prepared where a connection is seen to be direct, and not before (`preparing`).
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import sqlalchemy
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from sqlalchemy.engine import URL, Engine
from sqlalchemy.pool import (
    AssertionPool,
    ConnectionPoolEntry,
    NullPool,
    PoolProxiedConnection,
    QueuePool,
)

from emq_sql.errors import BadSetting, UnsupportedHandle
from emq_sql.protocol import opening, preparing
from emq_sql.protocol.adapt import as_psycopg
from emq_sql.protocol.bounded import BoundedConnection
from emq_sql.protocol.instants import legible_instants
from emq_sql.protocol.troubles import found, of_its_connection

_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
_SETTINGS: dict[str, Any] = {
    "prepare_threshold": None, "fallback_application_name": "emq_sql", "client_encoding": "utf8",
}  # fmt: skip
_CONNECT_TIMEOUT = 5  # seconds for each address; psycopg's own, 130, outlasts any lease
# Seconds; and milliseconds for what was sent and never confirmed. A live kernel confirms, however
# long its server takes.
_KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}  # fmt: skip
_USED = 3  # times, after which a connection of the pool is worth a question
_TAKEN = "emq_sql_autocommit"  # of a pooled connection that is in autocommit for us alone
_restored: weakref.WeakSet[Engine] = weakref.WeakSet()  # that restore what comes back
_ours: weakref.WeakSet[Engine] = weakref.WeakSet()  # whose settings are not the application's
_EXAMPLES = 'For example "postgresql://user@host/name" or "host=... dbname=...".'


def engine_for(database: str | URL | Engine) -> Engine:
    """An Engine on psycopg 3 for a URL, a libpq DSN, or the engine given.

    Connects to nothing yet. Raises BadSetting for what is no URL or DSN of PostgreSQL (without
    quoting it: it may hold a password), UnsupportedHandle for anything else, an engine with
    another driver among it.
    """
    if isinstance(database, Engine):
        if database.dialect.is_async:
            raise UnsupportedHandle(
                "The engine is the synchronous face of an asynchronous one.",
                hint="Give its URL: EMQ(engine.url), which makes a synchronous engine.",
            )
        if database.dialect.driver != "psycopg":
            raise UnsupportedHandle(
                f"The engine's driver is {database.dialect.driver}; emq_sql speaks psycopg 3.",
                hint='Make it with the URL scheme "postgresql+psycopg://".',
            )
        return database
    if not isinstance(database, (str, URL)):
        kind = type(database)
        raise UnsupportedHandle(
            f"A {kind.__module__}.{kind.__qualname__} is no database setting.",
            hint="Give a URL, a DSN or a (synchronous) SQLAlchemy Engine.",
        )
    return _forgotten_by_children(_made(database))


def _made(database: str | URL) -> Engine:
    if isinstance(database, str) and "://" not in database:
        return _of_dsn(database)
    try:
        url = sqlalchemy.make_url(database)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        # libpq's own URLs may name several hosts, which SQLAlchemy's cannot.
        return _of_dsn(str(database))
    if url.drivername not in _SCHEMES:
        raise BadSetting(
            f"The database URL begins with {url.drivername}://, and emq_sql needs PostgreSQL"
            " with psycopg 3.",
            hint='Use "postgresql+psycopg://" (or "postgresql://").',
        )
    return _with_pool(url.set(drivername="postgresql+psycopg"), _settings(url.query))


def _of_dsn(dsn: str) -> Engine:
    try:
        said = conninfo_to_dict(dsn)
    except psycopg.Error:
        said = {}
    if not said:
        raise BadSetting("The database setting is neither a URL nor a DSN.", hint=_EXAMPLES)
    return _with_pool("postgresql+psycopg://", said | _settings(said))


def _with_pool(url: str | URL, settings: Mapping[str, Any]) -> Engine:
    """The connection that was given back last is lent first: its session, here and on the server,
    is the one whose memory is still at hand, which saves an enqueue a quarter of its time when
    rings use a second one.
    """
    return sqlalchemy.create_engine(url, connect_args=dict(settings), pool_use_lifo=True)


def _settings(said: Mapping[str, Any]) -> dict[str, Any]:
    if "connect_timeout" in said or "PGCONNECT_TIMEOUT" in os.environ:
        return _SETTINGS
    return _SETTINGS | {"connect_timeout": _CONNECT_TIMEOUT}


def _forgotten_by_children(engine: Engine) -> Engine:
    """A forked child must not share its parent's sockets: it starts with an empty pool."""
    _ours.add(engine)
    reference = weakref.ref(engine)

    def forget() -> None:
        if (mine := reference()) is not None:
            mine.dispose(close=False)

    os.register_at_fork(after_in_child=forget)
    return engine


@contextmanager
def borrowed(engine: Engine) -> Iterator[psycopg.Connection[Any]]:
    """A connection from the pool in autocommit, so that each statement is its own transaction.

    Raises Retryable when the server cannot be reached. When the connection breaks, or leads to a
    server that takes no writes, those that lie idle in the pool are given up with it: they are as
    old, and what befell one befell them all.

    It comes from the pool itself: SQLAlchemy's Connection around it would take longer than the
    statement of an enqueue takes here. So events of the pool are seen, those of a Connection
    (`engine_connect`) are not.
    """
    lent = _checked_out(engine)
    try:
        conn = as_psycopg(lent.driver_connection)
        _take_over(engine, lent, conn)
        if conn.prepare_threshold is None and engine in _ours:
            _prepare_when_used(lent, conn)
        yield conn
    except Exception as error:
        if of_its_connection(error):
            lent.invalidate()
            engine.dispose()
        raise
    finally:
        _give_back(engine, lent)


def dedicated(engine: Engine, limit: float = opening.LIMIT) -> psycopg.Connection[Any]:
    """A new autocommit connection that belongs to the caller and is not in any pool.

    Made as the engine makes its own, its events included (a password fetched at connect, say); the
    engine's pool has no part in it, however full it is. What is asked while it is opened must be
    answered within `limit` seconds in all. Raises Retryable when no connection is to be had.
    """
    pool = engine.pool.recreate()  # empty, with the same creator, arguments and events
    with found(), opening.bounded(limit):
        made = pool.connect()
        driver = made.driver_connection
        assert isinstance(driver, psycopg.Connection)
        made.detach()
        driver.rollback()
        driver.autocommit = True
        driver.prepare_threshold = None
        if driver.info.encoding != "utf-8":  # an engine of the application's own
            driver.execute("set client_encoding to 'UTF8'")
    return driver


def bounded(dsn: str, seconds: float) -> BoundedConnection:
    """A new connection like a `dedicated` one, each of whose statements may take so long, and on
    which every instant of the server's can be read.

    It is the kernel that ends those for which there is no limit, when nobody is at the other end.
    """
    engine = engine_for(dsn)
    sqlalchemy.event.listen(engine, "do_connect", _connected)
    conn = dedicated(engine, min(seconds, opening.LIMIT))
    assert isinstance(conn, BoundedConnection)
    conn.bound(seconds)
    legible_instants(conn)
    return conn


def like(conn: psycopg.Connection[Any], dsn: str) -> psycopg.Connection[Any]:
    """A new connection there, `bounded` if that one is, else `dedicated`."""
    if isinstance(conn, BoundedConnection):
        return bounded(dsn, conn.limit)
    return dedicated(engine_for(dsn))


def _connected(
    _dialect: object, _record: object, args: Sequence[Any], given: dict[str, Any]
) -> BoundedConnection:
    return BoundedConnection.connect(*args, **_KEEPALIVE | given)


def _checked_out(engine: Engine) -> PoolProxiedConnection:
    with found():
        lent = engine.pool.connect()
        conn = lent.driver_connection
        if conn is not None and conn.closed:  # another user of the pool put it back like that
            lent.invalidate()
            lent.close()
            lent = engine.pool.connect()
        return lent


def _prepare_when_used(lent: PoolProxiedConnection, conn: psycopg.Connection[Any]) -> None:
    """From the third use on; a script that adds one job asks nothing."""
    uses = lent.info["emq_sql_uses"] = lent.info.get("emq_sql_uses", 0) + 1
    if uses == _USED:
        with found():
            preparing.ask(conn)


def _take_over(engine: Engine, lent: PoolProxiedConnection, conn: psycopg.Connection[Any]) -> None:
    """Put it into autocommit; however it comes back into the pool, it is put back then.

    A transaction that is open already is one that a listener of the application's has begun when
    the connection was made or lent, and is rolled back; where others may have the same connection
    it may be theirs, and is left alone.
    """
    if conn.info.transaction_status != TransactionStatus.IDLE:
        if not isinstance(engine.pool, (QueuePool, NullPool, AssertionPool)):
            raise UnsupportedHandle(
                "The engine's pool gives this thread a connection on which a transaction is open.",
                hint="Enqueue with session=..., or give EMQ an engine with a QueuePool.",
            )
        conn.rollback()
    if not conn.autocommit:
        if engine not in _restored:
            sqlalchemy.event.listen(engine, "checkin", _as_it_was)
            _restored.add(engine)
        lent.info[_TAKEN] = True
        conn.autocommit = True


def _as_it_was(driver: psycopg.Connection[Any] | None, record: ConnectionPoolEntry) -> None:
    """A connection comes back, by whatever way: the application's next user has no autocommit."""
    if record.info.pop(_TAKEN, None) is None or driver is None or driver.closed:
        return
    try:
        driver.autocommit = False
    except psycopg.Error:  # something is under way on it still
        record.invalidate()


def _give_back(engine: Engine, lent: PoolProxiedConnection) -> None:
    if lent.is_valid:
        conn = lent.driver_connection
        if conn is None or conn.closed:
            lent.invalidate()
            engine.dispose()
        elif conn.autocommit and conn.info.transaction_status != TransactionStatus.IDLE:
            lent.invalidate()  # what was begun on it has not ended in order
    lent.close()
