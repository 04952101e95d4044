"""Fields of forked worker processes, and sessions that speak the SQL verbs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.forking import ForkedField, Nursery
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """The process that forks all workers of these tests."""
    made = Nursery("tests.faults.jobs", "tests.cases.jobs")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def field(db: Database, nursery: Nursery, tmp_path: Path) -> Iterator[ForkedField]:
    """Workers on a database with the newest schema; none outlives the test."""
    made = ForkedField(db.dsn, tmp_path, db.connect())
    made.nursery = nursery
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def ledger(db: Database) -> Ledger:
    """A session in which each statement commits."""
    return Ledger(db.connect())
