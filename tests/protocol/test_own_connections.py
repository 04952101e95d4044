"""Connections of our own: never out of the application's pool, always new, and opened in time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
import sqlalchemy
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.pool import StaticPool

from emq_sql.errors import Retryable
from emq_sql.protocol.connecting import dedicated
from tests.plugins.databases import Database
from tests.plugins.proxy import proxied


@contextmanager
def an_engine(dsn: str, **given: Any) -> Iterator[Engine]:
    """An engine of an application, with a pool."""
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://", connect_args=conninfo_to_dict(dsn), **given
    )
    try:
        yield engine
    finally:
        engine.dispose()


def test_a_pool_that_handlers_have_emptied_starves_no_connection_of_ours(db: Database) -> None:
    with an_engine(db.dsn, pool_size=1, max_overflow=0, pool_timeout=600) as engine:
        with engine.connect(), dedicated(engine) as ours:
            assert ours.execute("select 1").fetchone() == (1,)
        assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("given", [{"pool_pre_ping": True}, {"poolclass": StaticPool}])
def test_a_connection_that_fell_silent_in_the_pool_is_not_taken(
    db: Database, given: dict[str, Any]
) -> None:
    with proxied(db.dsn) as proxy, an_engine(proxy.dsn, **given) as engine:
        with engine.connect() as idle:
            pid = idle.exec_driver_sql("select pg_backend_pid()").scalar_one()
        proxy.hush()
        with dedicated(engine) as ours:
            assert ours.info.backend_pid != pid
            assert ours.execute("select 1").fetchone() == (1,)
        proxy.cut()


def test_events_creator_and_arguments_of_the_engine_take_part(db: Database) -> None:
    name = "select current_setting('application_name'), current_setting('work_mem')"
    with an_engine("dbname=nowhere") as engine:

        @event.listens_for(engine, "do_connect")
        def aims(_dialect: Any, _record: Any, _args: Any, given: dict[str, Any]) -> None:
            given |= conninfo_to_dict(db.dsn) | {"application_name": "of the event"}

        @event.listens_for(engine, "connect")
        def sets(connection: psycopg.Connection[Any], _record: Any) -> None:
            connection.execute("set work_mem to '7MB'")
            connection.commit()

        for _ in range(2):
            with dedicated(engine) as ours:
                assert ours.execute(name.encode()).fetchone() == ("of the event", "7MB")
    given = {"creator": lambda: psycopg.connect(db.dsn, application_name="of the creator")}
    with an_engine("dbname=nowhere", **given) as engine, dedicated(engine) as ours:
        assert ours.execute(name.encode()).fetchone() == ("of the creator", "4MB")


@pytest.mark.parametrize("last", [b"standard_conforming_strings", b"'mine'", b"'of all'"])
def test_a_server_that_falls_silent_while_a_connection_is_opened_holds_nobody_up(
    db: Database, last: bytes
) -> None:
    """At SQLAlchemy's first questions, in a listener of the engine, in one of the class."""

    def asks(what: str, connection: psycopg.Connection[Any]) -> None:
        connection.execute(f"select '{what}'".encode())
        connection.rollback()

    def of_all(connection: psycopg.Connection[Any], _record: Any) -> None:
        asks("of all", connection)

    event.listen(Engine, "connect", of_all)
    try:
        with proxied(db.dsn) as proxy, an_engine(proxy.dsn) as engine:
            event.listen(engine, "connect", lambda connection, _record: asks("mine", connection))
            proxy.silence(last)
            with pytest.raises(Retryable, match="did not answer within"):
                dedicated(engine, 0.5)
            assert proxy.lost.is_set()
            with dedicated(engine, 0.5) as ours:
                assert ours.execute("select 1").fetchone() == (1,)
    finally:
        event.remove(Engine, "connect", of_all)
