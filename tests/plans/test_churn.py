"""What calls touch when vacuum never comes, and when many claim at the head of one line."""

from __future__ import annotations

import pytest

from emq_sql.minting import new_id
from tests.plans.plans import HOT, watching
from tests.protocol.calls import Ledger

BOUND = 60  # pages; the dead rows below are on more than a hundred of each table and index
ROUNDS, BATCH = 40, 500
HELD, EXTENSIONS = 200, 100
CLAIMERS = 63


@pytest.fixture
def unvacuumed(ledger: Ledger) -> Ledger:
    """A ledger whose hot tables nobody vacuums, as where all of its workers are busy elsewhere."""
    for table in sorted(HOT):
        ledger.run(f"alter table emq.{table} set (autovacuum_enabled = off)")
    return ledger


def test_twenty_thousand_jobs_without_a_vacuum_make_no_verb_touch_more(unvacuumed: Ledger) -> None:
    ledger = unvacuumed
    for _ in range(ROUNDS):
        ledger.add_many([new_id() for _ in range(BATCH)])
        ledger.complete(*ledger.claim(BATCH))
        ledger.maintain()
    ledger.add(3)
    with watching(ledger) as watch:
        held = ledger.claim(3)
        ledger.extend(held[0])
        ledger.complete(*held)
        ledger.reap()
    assert watch.most_pages() < BOUND
    assert watch.unsafe() == []


def test_a_hundred_extensions_of_each_lease_make_neither_the_next_nor_reap_touch_more(
    unvacuumed: Ledger,
) -> None:
    ledger = unvacuumed
    ledger.add_many([new_id() for _ in range(HELD)])
    held = ledger.claim(HELD, lease="1 h")
    for turn in range(EXTENSIONS):
        assert ledger.extend(*held, lease=f"{3600 + turn} s") == ["done"] * HELD
    lost = ledger.abandoned()
    with watching(ledger) as watch:
        assert ledger.extend(held[0], lease="2 h") == ["done"]
        assert ledger.reap() == (1, 0, 0)
        assert ledger.complete(held[1]) == ["done"]
    assert watch.most_pages() < BOUND
    assert ledger.place(lost.id) == "pending"


def test_hot_tables_are_vacuumed_after_a_count_of_dead_rows_and_not_a_share(
    ledger: Ledger,
) -> None:
    for table in sorted(HOT - {"job"}):  # rows of job go by retention alone
        options = ledger.one(
            "select reloptions from pg_class where oid = %s::regclass", f"emq.{table}"
        )
        set_to = dict(option.split("=") for option in options)
        assert set_to["autovacuum_vacuum_scale_factor"] == "0"
        assert int(set_to["autovacuum_vacuum_threshold"]) <= 10_000
        assert set_to["autovacuum_vacuum_cost_delay"] == "0"


@pytest.mark.parametrize("n", [1, 16])
def test_a_claim_behind_sixty_three_open_ones_touches_few_pages_for_each_job(
    ledger: Ledger, other: Ledger, n: int
) -> None:
    """They hold the rows at the head: those are stepped over, and nothing else is."""
    for _ in range(20):
        ledger.add_many([new_id() for _ in range(1_000)])
    taken = [other.take() for _ in range(CLAIMERS)]
    with watching(ledger) as watch:
        held = ledger.claim(n)
    other.conn.commit()
    assert len(held) == n and not {one.id for one in held} & {one.id for one in taken}
    assert watch.most_pages() < 20 * n + CLAIMERS
