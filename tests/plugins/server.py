"""One PostgreSQL for the whole run, also of a parallel one, and a database for each test.

The process that was started as `pytest` owns the server. It is stopped at the end of the run, and
when that process is killed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.plugins.choice import Choice, choose
from tests.plugins.databases import Database, misplaced, scratch, template_with_schema
from tests.plugins.running import PgServer, run

CHOICE = pytest.StashKey[Choice]()
SERVER = pytest.StashKey[PgServer]()

_TO_WORKERS = "emq_server"


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if hasattr(config, "workerinput"):
        config.stash[SERVER] = PgServer(**config.workerinput[_TO_WORKERS])
        return
    config.stash[CHOICE] = choice = choose()
    if choice.name != "dsn":
        _forget_the_users_settings()
    if choice.name == "dsn" or config.getoption("dist", "no") != "no":
        _running(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput[_TO_WORKERS] = node.config.stash[SERVER].as_dict()


def pytest_report_header(config: pytest.Config) -> str | None:
    choice = config.stash.get(CHOICE, None)
    if choice is None:
        return None
    server = config.stash.get(SERVER, None)
    version = (
        f", PostgreSQL {server.version}" if server and "PostgreSQL" not in choice.detail else ""
    )
    return f"server: {choice.name} ({choice.detail}{version})"


@pytest.fixture(scope="session")
def pg_server(pytestconfig: pytest.Config) -> PgServer:
    """The server of this run: `.dsn` of its maintenance database, `.major`, `.choice`."""
    return _running(pytestconfig)


@pytest.fixture(scope="session")
def _template(pg_server: PgServer) -> str:
    return template_with_schema(pg_server)


@pytest.fixture
def empty_db(pg_server: PgServer) -> Iterator[Database]:
    """A fresh database with nothing in it."""
    with scratch(pg_server) as database:
        yield database


@pytest.fixture
def db(pg_server: PgServer, _template: str) -> Iterator[Database]:
    """A fresh database with the newest schema; afterwards each job must be in exactly one place."""
    with scratch(pg_server, _template) as database:
        yield database
        assert misplaced(database) == []


def _running(config: pytest.Config) -> PgServer:
    if SERVER not in config.stash:
        config.stash[SERVER], stop = run(config.stash[CHOICE])
        config.add_cleanup(stop)
    return config.stash[SERVER]


def _forget_the_users_settings() -> None:
    # PGHOSTADDR, PGSERVICE or PGOPTIONS would send the tests' own connections elsewhere.
    for name in [name for name in os.environ if name.startswith("PG")]:
        del os.environ[name]
