"""Ledgers whose statistics and dead rows tempt the planner."""

from __future__ import annotations

import pytest

from tests.plans.plans import HOT
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger
from tests.protocol.conftest import other

__all__ = ["other"]


@pytest.fixture
def ledger(db: Database) -> Ledger:
    return Ledger(db.connect())


@pytest.fixture
def emptied(ledger: Ledger) -> Ledger:
    """Hot tables that were large, and were vacuumed and analyzed at a moment when they were empty.

    Statistics then say that a full scan costs nothing; it stays planned when the table is large.
    """
    ledger.run(
        "insert into emq.job (id, priority, queue, task, payload)"
        " select emq.uuid7(), 2, 'q', 't', '{}' from generate_series(1, 20000);"
        " insert into emq.active (id, fence, lease_deadline, claimed_at, attempts, lease_ms, rank,"
        "  stalled, failures, queue, worker)"
        " select id, 1, now(), now(), 1, 30000, 5, 0, 0, 'q', 'w' from emq.job;"
        " insert into emq.pending (id, queue, rank) select id, 'q', 5 from emq.job;"
        " insert into emq.scheduled (run_at, id, queue, rank) select now(), id, 'q', 5 from emq.job;"
        " delete from emq.pending; delete from emq.active; delete from emq.scheduled;"
        " delete from emq.job"
    )
    for table in sorted(HOT):
        ledger.run(f"vacuum analyze emq.{table}")
        assert (
            ledger.one("select reltuples from pg_class where oid = %s::regclass", f"emq.{table}")
            == 0
        )
    return ledger
