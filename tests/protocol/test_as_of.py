"""as_of: what was in flight at an instant, from the ledger, the attempts and the archive."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.protocol.calls import Ledger
from tests.protocol.history import date_back, days_ago


def now(ledger: Ledger) -> datetime:
    at: datetime = ledger.one("select clock_timestamp()")
    return at


def as_of(ledger: Ledger, at: datetime, columns: str = "id, attempts") -> list[tuple[Any, ...]]:
    return ledger.rows(f"select {columns} from emq.as_of(%s)", at)


def test_a_claim_is_in_flight_from_its_beginning_to_its_end_however_it_ended(
    ledger: Ledger,
) -> None:
    before = now(ledger)
    id = ledger.add_one("q", task="mail")
    first = ledger.take("q", worker="w1")
    in_first = now(ledger)
    ledger.retry(first, error="boom")
    between = now(ledger)
    second = ledger.take("q", worker="w2")
    in_second = now(ledger)
    ledger.extend(second, lease="1 h")
    ledger.complete(second)
    after = now(ledger)
    held = ledger.start("q", worker="w3")
    last = now(ledger)
    assert [as_of(ledger, at) for at in (before, between, after)] == [[], [], []]
    columns = "id, queue, task, worker, attempts, ended, lease_deadline > ended_at + interval '9 m'"
    assert as_of(ledger, in_first, columns) == [(id, "q", "mail", "w1", 1, "failed", False)]
    assert as_of(ledger, in_second, columns) == [(id, "q", "mail", "w2", 2, "completed", True)]
    assert as_of(ledger, last, "id, worker, ended_at, ended, lease_deadline") == [
        (held.id, "w3", None, None, held.lease_deadline)
    ]


def test_a_job_that_was_cancelled_while_it_ran_was_in_flight_once(ledger: Ledger) -> None:
    held = ledger.start()
    at = now(ledger)
    ledger.operate("cancel", held.id)
    assert as_of(ledger, at, "id, ended, lease_deadline") == [
        (held.id, "cancelled", held.lease_deadline)
    ]


def test_a_lease_that_had_expired_was_still_in_flight_until_it_was_reaped(ledger: Ledger) -> None:
    held = ledger.abandoned()
    at = now(ledger)
    ledger.reap()
    assert as_of(ledger, at, "id, ended, lease_deadline < %(at)s".replace("%(at)s", f"'{at}'")) == [
        (held.id, "stalled", True)
    ]


def test_of_an_instant_to_come_there_is_nothing(ledger: Ledger) -> None:
    ledger.start()
    assert len(as_of(ledger, now(ledger))) == 1
    assert as_of(ledger, now(ledger) + timedelta(minutes=1)) == []
    assert ledger.rows("select * from emq.as_of(null)") == []


def test_only_claims_that_ran_for_longer_than_is_said_are_left_out(ledger: Ledger) -> None:
    day = days_ago(ledger, 9)
    held = ledger.start()
    ledger.complete(held)
    date_back(ledger, [held.id], day, hour=30)
    ledger.run("update emq.archive set claimed_at = %s", day)
    at = ledger.one("select %s + interval '1 hour'", day)
    query = "select count(*) from emq.as_of(%s, 10, %s::interval)"
    assert [ledger.one(query, at, longest) for longest in ("1 d", "30 h", None)] == [0, 1, 1]


def test_the_oldest_claims_come_first_and_ten_thousand_are_the_most(ledger: Ledger) -> None:
    ids = [ledger.start().id for _ in range(3)]
    at = now(ledger)
    assert [id for id, _ in as_of(ledger, at)] == ids
    assert ledger.column("select id from emq.as_of(%s, 2)", at) == ids[:2]


WHAT = st.lists(st.sampled_from(["claim", "complete", "retry", "release", "cancel"]), max_size=14)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(WHAT)
def test_it_says_what_the_ledger_said_at_that_instant(ledger: Ledger, what: list[str]) -> None:
    ledger.run("truncate emq.job, emq.pending, emq.active, emq.archive, emq.attempt")
    ledger.add(4)
    seen: list[tuple[datetime, set[tuple[UUID, int]]]] = []
    for step in what:
        held = ledger.rows("select id, fence from emq.active order by claimed_at limit 1")
        if step == "claim":
            ledger.claim(1)
        elif held and step == "cancel":
            ledger.operate("cancel", held[0][0])
        elif held:
            getattr(ledger, step)(held[0])
        seen.append((now(ledger), set(ledger.rows("select id, attempts from emq.active"))))
    for at, then in seen:
        assert set(as_of(ledger, at)) == then
