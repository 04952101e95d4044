"""An application with tasks, and a reader that sees what was committed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy
from hypothesis import settings
from psycopg.rows import dict_row
from sqlalchemy.engine import Engine

from emq_sql import EMQ, Task
from tests.plugins.databases import Database

settings.register_profile("house", deadline=None, print_blob=True)
settings.load_profile("house")


class Reader:
    """What is committed, read on a connection of its own."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def rows(self, query: str, *params: Any) -> list[dict[str, Any]]:
        """Any query; a row is a dict."""
        with psycopg.Cursor(self._connection, row_factory=dict_row) as cursor:
            return cursor.execute(query.encode(), params).fetchall()

    def numbers(self) -> list[int]:
        """The arguments n of all jobs that are there, sorted."""
        return sorted(int(row["n"]) for row in self.rows("select payload -> 'n' as n from emq.job"))

    def job(self) -> dict[str, Any]:
        """The only job."""
        (row,) = self.rows("select * from emq.job")
        return row

    def end_session(self, pid: int) -> None:
        """Terminate a backend, and return when it is gone."""
        (row,) = self.rows("select pg_terminate_backend(%s, 20000) as gone", pid)
        assert row["gone"]


@pytest.fixture
def emq(db: Database) -> Iterator[EMQ]:
    """An application on the database of this test."""
    made = EMQ(db.dsn)
    yield made
    made.engine.dispose()


@pytest.fixture
def send(emq: EMQ) -> Task[[int], None]:
    """A task with one argument."""

    @emq.task(name="send")
    def send(n: int) -> None:
        """Send it."""

    return send


@pytest.fixture
def reader(db: Database) -> Reader:
    """Sees what is committed."""
    return Reader(db.connect())


@pytest.fixture
def engine(db: Database) -> Iterator[Engine]:
    """The application's own engine, with one table of its own."""
    made = sqlalchemy.create_engine(db.dsn.replace("postgresql:", "postgresql+psycopg:", 1))
    with made.begin() as connection:
        connection.exec_driver_sql("create table orders (n int)")
    yield made
    made.dispose()
