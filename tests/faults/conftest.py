"""A field of worker processes for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.processes import Field
from tests.plugins.databases import Database


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.faults)


@pytest.fixture
def field(db: Database, tmp_path: Path) -> Iterator[Field]:
    """Workers on a database with the newest schema; none outlives the test."""
    place = Field(db.dsn, tmp_path, db.connect())
    try:
        yield place
    finally:
        place.close()
