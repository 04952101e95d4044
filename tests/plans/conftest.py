"""Ledgers whose statistics and dead rows tempt the planner."""

from __future__ import annotations

import time

import pytest

from tests.plans.plans import HOT
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger
from tests.protocol.conftest import other

__all__ = ["other"]

FILL = """
insert into emq.job (id, priority, queue, task, payload)
select emq.uuid7(), 2, 'q', 't', '{}' from generate_series(1, 20000);
insert into emq.active (id, fence, lease_deadline, claimed_at, attempts, lease_ms, rank, stalled,
                        failures, queue, worker)
select id, 1, now(), now(), 1, 30000, 5, 0, 0, 'q', 'w' from emq.job;
insert into emq.pending (id, queue, rank) select id, 'q', 5 from emq.job;
insert into emq.scheduled (run_at, id, queue, rank) select now(), id, 'q', 5 from emq.job
"""


@pytest.fixture
def ledger(db: Database) -> Ledger:
    return Ledger(db.connect())


@pytest.fixture(params=["truncated", "pinned"])
def emptied(request: pytest.FixtureRequest, db: Database, ledger: Ledger) -> Ledger:
    """Hot tables that were large, and were vacuumed and analyzed at a moment when they were empty.

    Truncated to no pages, a table is cheapest read whole; and that stays planned when it is large
    again. With its pages kept by an old snapshot the planner expects no row on any of them, and
    may join by a walk through a whole index.
    """
    ledger.run(FILL)
    pin = db.connect(autocommit=False)
    if request.param == "pinned":
        pin.execute("set transaction isolation level repeatable read")
        pin.execute("select 1 from pg_class limit 1")
    ledger.run("; ".join(f"delete from emq.{table}" for table in sorted(HOT)))
    for table in sorted(HOT):
        wait_for_statistics(ledger, table, (request.param == "pinned", 0))
    pin.close()
    return ledger


def wait_for_statistics(ledger: Ledger, table: str, wanted: tuple[bool, int]) -> None:
    """Vacuum until the catalog says (has pages, rows).

    Once is not always enough: autovacuum may look at another table of this database just then, and
    its snapshot keeps the rows that were deleted, or its lock the pages that are empty. Pages that
    are known to be visible to all would be skipped the next time, and never be cut off.
    """
    for _ in range(1000):
        ledger.run(f"vacuum (analyze, disable_page_skipping) emq.{table}")
        found = ledger.row(
            "select relpages > 0, reltuples from pg_class where oid = %s::regclass", f"emq.{table}"
        )
        if found == wanted:
            return
        time.sleep(0.05)
    raise AssertionError(f"emq.{table} has {found} and not {wanted}")
