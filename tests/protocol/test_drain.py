"""drain: what waits in a queue is given up, in batches, and nothing else is."""

from __future__ import annotations

import pytest

from tests.protocol.calls import Ledger, refused
from tests.protocol.emptying import drain


def test_what_waits_is_cancelled_and_what_runs_goes_on(ledger: Ledger) -> None:
    running = ledger.start()
    waiting = [*ledger.add(2), ledger.add_one(priority=0)]
    later, other = ledger.add_one(delay="1 h"), ledger.add_one("other")
    assert drain(ledger) == (3, None)
    assert {ledger.place(id) for id in waiting} == {"cancelled"}
    assert (ledger.place(later), ledger.place(other)) == ("scheduled", "pending")
    assert ledger.complete(running) == ["done"]
    assert [ledger.status(id) for id in waiting] == ["duplicate"] * 3
    assert ledger.claim(9) == []


def test_scheduled_jobs_go_too_when_that_is_asked(ledger: Ledger) -> None:
    ids = [ledger.add_one(), *(ledger.add_one(delay="1 h") for _ in range(2))]
    other = ledger.add_one("other", delay="1 h")
    assert drain(ledger, scheduled=True) == (3, None)
    assert {ledger.place(id) for id in ids} == {"cancelled"}
    assert ledger.place(other) == "scheduled"


def test_jobs_that_came_back_go_with_their_counts_kept(ledger: Ledger) -> None:
    ledger.add(2)
    ledger.stall()
    ledger.retry(ledger.claim(2)[1], delay="1 h")
    ledger.release(*ledger.claimed(7))
    assert drain(ledger, scheduled=True) == (2, None)
    found = ledger.rows("select attempts, stalled, failures, fence from emq.archive order by 1")
    assert found == [(1, 0, 1, None), (2, 1, 0, None)]


def test_batches_lead_on_to_the_end_through_all_levels_and_instants(ledger: Ledger) -> None:
    at = ledger.one("select now() + interval '1 h'")
    for priority in (4, 0, 2):
        ledger.add(3, priority=priority)
    for _ in range(5):  # of one instant, so that the id decides
        ledger.add_one(run_at=at)
    ledger.add(2, "other", run_at=at)
    found, after = [], None
    while True:
        cancelled, after = drain(ledger, limit=4, scheduled=True, after=after)
        found.append(cancelled)
        assert ledger.rows("select * from emq.misplaced") == []
        if after is None:
            break
    assert found == [4, 4, 4, 2]
    assert ledger.rows("select queue, count(*) from emq.scheduled group by 1") == [("other", 2)]


def test_a_batch_begins_at_the_head_whenever_no_place_is_given(ledger: Ledger) -> None:
    ids = ledger.add(5)
    cancelled, after = drain(ledger, limit=2)
    assert (cancelled, [ledger.place(id) for id in ids[:2]]) == (2, ["cancelled"] * 2)
    assert after is not None
    assert drain(ledger, limit=9) == (3, None)


def test_a_job_that_is_being_claimed_is_left_to_the_claim(ledger: Ledger, other: Ledger) -> None:
    ids = ledger.add(2)
    held = other.take()
    assert drain(ledger) == (1, None)
    assert ledger.place(ids[1]) == "cancelled"
    other.conn.commit()
    assert ledger.complete(held) == ["done"]


def test_a_drain_that_is_rolled_back_has_taken_nothing(ledger: Ledger, other: Ledger) -> None:
    ledger.add(3)
    assert drain(other) == (3, None)
    other.conn.rollback()
    assert len(ledger.claim(9)) == 3
    assert ledger.rows("select * from emq.archive") == []


def test_each_batch_is_audited_with_its_count(ledger: Ledger) -> None:
    ledger.add(3)
    drain(ledger, limit=2, label="clean")
    drain(ledger, label="clean")
    assert drain(ledger, label="nothing was there") == (0, None)
    assert ledger.rows("select verb, queue, who = session_user, label, detail from emq.audit") == [
        ("drain", "default", True, "clean", {"cancelled": 2, "scheduled": False}),
        ("drain", "default", True, "clean", {"cancelled": 1, "scheduled": False}),
    ]


def test_a_name_that_is_none_is_refused(ledger: Ledger) -> None:
    with refused("EQ006", names="Mail"):
        drain(ledger, "Mail")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing_is_one(ledger: Ledger, limit: int) -> None:
    ledger.add(2)
    assert drain(ledger, limit=limit)[0] == 1
