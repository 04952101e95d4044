"""Shops: applications of one module, each on a database of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from tests.integrations.flask.shop import create_app, db
from tests.plugins.databases import Database, scratch, template_with_schema
from tests.plugins.running import PgServer

TABLES = "create table orders (n int); create table invoice (n int, app text, pid int)"
Shops = Callable[..., Flask]


def uri(database: Database) -> str:
    """As SQLAlchemy writes it."""
    return database.dsn.replace("postgresql:", "postgresql+psycopg:", 1)


def column(database: Database, query: str) -> list[Any]:
    """What is committed there."""
    return [row[0] for row in database.connect().execute(query.encode()).fetchall()]


@pytest.fixture
def open_shop() -> Iterator[Shops]:
    """Makes an application on a database, which gets its tables."""
    made: list[Flask] = []

    def make(database: Database, **config: Any) -> Flask:
        database.connect().execute(TABLES)
        made.append(create_app(SQLALCHEMY_DATABASE_URI=uri(database), **config))
        return made[-1]

    yield make
    for app in made:
        with app.app_context():
            db.engine.dispose()
        app.extensions["emq"].engine.dispose()


@pytest.fixture
def shop(db: Database, open_shop: Shops) -> Flask:
    """One of them, named `one`."""
    return open_shop(db, SHOP="one")


@pytest.fixture
def other_db(pg_server: PgServer) -> Iterator[Database]:
    """A second database with a ledger."""
    with scratch(pg_server, template_with_schema(pg_server)) as database:
        yield database
