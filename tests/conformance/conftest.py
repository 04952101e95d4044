"""The client under test (SQL, the Python package, or a program of yours) and who looks on."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.client import Client
from tests.conformance.speaking import ProgramSpeaker, SqlSpeaker
from tests.conformance.workers import YOURS as YOUR_WORKER
from tests.conformance.workers import Shop
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger
from tests.protocol.conftest import ledger, third

__all__ = ["ledger", "third"]

YOURS = os.environ.get("EMQ_SQL_CONFORMANCE_CLIENT")
PROGRAMS = {
    "python": [sys.executable, "-m", "tests.conformance.python_client"],
    "yours": shlex.split(YOURS or ""),
}


@pytest.fixture(scope="session", params=["yours"] if YOURS else ["sql", "python"])
def speaker(request: pytest.FixtureRequest) -> Iterator[SqlSpeaker | ProgramSpeaker]:
    """One for the whole run: a program is started once, and told of each test's database."""
    one = SqlSpeaker() if request.param == "sql" else ProgramSpeaker(PROGRAMS[request.param])
    yield one
    one.close()


@pytest.fixture
def client(speaker: SqlSpeaker | ProgramSpeaker, db: Database) -> Client:
    """The first session of the client under test, on the database of this test."""
    return Client(speaker, db.dsn)


def opened(kind: str, db: Database, ledger: Ledger, place: Path) -> Iterator[Shop]:
    if kind in {"bash", "short"} and not shutil.which("psql"):
        pytest.skip("There is no psql (Debian: apt-get install postgresql-client).")
    shop = Shop(db.dsn, place, kind, ledger)
    yield shop
    shop.close()


@pytest.fixture
def shop(db: Database, ledger: Ledger, tmp_path: Path) -> Iterator[Shop]:
    """A queue for the bash worker, or for yours."""
    yield from opened("yours" if YOUR_WORKER else "bash", db, ledger, tmp_path)


@pytest.fixture(params=["yours"] if YOUR_WORKER else ["bash", "short"])
def simple(
    request: pytest.FixtureRequest, db: Database, ledger: Ledger, tmp_path: Path
) -> Iterator[Shop]:
    """A queue for either worker in bash, or for yours: what the dozen lines can do as well."""
    yield from opened(request.param, db, ledger, tmp_path)


@pytest.fixture(params=["yours"] if YOUR_WORKER else ["bash", "short", "python"])
def any_worker(
    request: pytest.FixtureRequest, db: Database, ledger: Ledger, tmp_path: Path
) -> Iterator[Shop]:
    """A queue for each of the workers, or for yours."""
    yield from opened(request.param, db, ledger, tmp_path)


@pytest.fixture(params=["yours"] if YOUR_WORKER else ["bash", "python"])
def each(
    request: pytest.FixtureRequest, db: Database, ledger: Ledger, tmp_path: Path
) -> Iterator[Shop]:
    """A queue for the bash worker and for the Python worker, or for yours."""
    yield from opened(request.param, db, ledger, tmp_path)


@pytest.fixture
def python_shop(db: Database, ledger: Ledger, tmp_path: Path) -> Iterator[Shop]:
    """A queue for the Python worker."""
    yield from opened("python", db, ledger, tmp_path)
