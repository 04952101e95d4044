"""Sessions for the tests of the protocol."""

from __future__ import annotations

import pytest

from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

# A verb that promises not to wait and waits all the same fails with 55P03: no clock is watched.
NEVER_WAIT = "-c lock_timeout=3s"


@pytest.fixture
def ledger(db: Database) -> Ledger:
    """A session in which each statement commits."""
    return Ledger(db.connect(options=NEVER_WAIT))


@pytest.fixture
def other(db: Database) -> Ledger:
    """A second session, whose transaction stays open until the test ends it."""
    return Ledger(db.connect(options=NEVER_WAIT, autocommit=False))


@pytest.fixture
def third(db: Database) -> Ledger:
    """One more session in which each statement commits."""
    return Ledger(db.connect(options=NEVER_WAIT))
