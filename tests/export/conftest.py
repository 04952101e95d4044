"""Sessions for the tests of the export."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugins.databases import Database
from tests.protocol.calls import Ledger


@pytest.fixture
def ledger(db: Database) -> Ledger:
    """A session in which each statement commits."""
    return Ledger(db.connect())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the exports go."""
    return tmp_path / "exports"
