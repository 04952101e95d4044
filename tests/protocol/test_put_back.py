"""retry, snooze and release: a holder gives its job back; where it lands, and what it costs."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def test_retry_counts_a_failure_and_puts_the_job_into_the_line(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.retry(held, error="boom") == ["pending"]
    again = ledger.take()
    assert (again.id, again.attempts, again.failures, again.stalled) == (held.id, 2, 1, 0)


def test_retry_with_a_delay_waits(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.retry(held, delay="1 h", error="boom") == ["scheduled"]
    assert ledger.promote() == 0
    assert ledger.claim(5) == []
    assert ledger.place(held.id) == "scheduled"


def test_retry_without_a_delay_goes_behind_the_fresh_jobs_of_its_level(ledger: Ledger) -> None:
    held = ledger.start()
    fresh = ledger.add_one()
    ledger.retry(held)
    assert [one.id for one in ledger.claim(2)] == [fresh, held.id]


def test_snooze_waits_and_costs_nothing(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.snooze(held, delay="50 ms") == ["scheduled"]
    ledger.until(lambda: ledger.promote() == 1, "the delay is over")
    again = ledger.take()
    assert (again.id, again.attempts, again.failures, again.stalled) == (held.id, 2, 0, 0)


def test_release_goes_to_the_head_of_its_level_and_costs_nothing(ledger: Ledger) -> None:
    held = ledger.start()
    fresh = ledger.add_one()
    assert ledger.release(held) == ["pending"]
    first, second = ledger.claim(2)
    assert (first.id, first.attempts, first.failures, first.stalled) == (held.id, 2, 0, 0)
    assert second.id == fresh


def test_a_released_job_stays_behind_higher_levels(ledger: Ledger) -> None:
    held = ledger.start()
    urgent = ledger.add_one(priority=0)
    ledger.release(held)
    assert [one.id for one in ledger.claim(2)] == [urgent, held.id]


def test_whoever_gave_a_job_back_holds_it_no_more(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.release(held) == ["pending"]
    for verb in (ledger.release, ledger.retry, ledger.extend, ledger.complete):
        assert verb(held) == ["lost"]
    assert ledger.outcome(held) == "superseded"


def test_each_attempt_that_ended_without_completion_has_its_row(ledger: Ledger) -> None:
    ledger.add(queue="q")
    a = ledger.take("q")
    ledger.extend(a)
    ledger.retry(a, error="boom")
    b = ledger.take("q", worker="w2")
    ledger.snooze(b, delay="0 s")
    c = ledger.take("q")
    ledger.release(c)
    rows = ledger.rows(
        "select how, error, fence, worker, extensions, queue, lease_deadline is not null,"
        " ended_at >= claimed_at from emq.attempt order by fence"
    )
    assert rows == [
        ("failed", "boom", a.fence, "w1", 1, "q", True, True),
        ("snoozed", None, b.fence, "w2", 0, "q", True, True),
        ("released", None, c.fence, "w1", 0, "q", True, True),
    ]


def test_one_call_gives_many_back_each_to_its_own_place(ledger: Ledger) -> None:
    ledger.add_one(max_attempts=1)
    ledger.add(3)
    a, b, c, d = ledger.claim(4)
    answers = ledger.one(
        "select emq.retry(%s::uuid[], %s::bigint[], array['0', '1 h', '0', null]::interval[],"
        " null)",
        [d.id, b.id, a.id, c.id], [d.fence, b.fence, a.fence, c.fence + 1],
    )  # fmt: skip
    assert answers == ["pending", "scheduled", "dead", "lost"]
    places = [ledger.place(one.id) for one in (a, b, c, d)]
    assert places == ["dead", "scheduled", "active", "pending"]


def test_a_job_under_a_guard_is_busy_and_stays(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    other.guard(held)
    assert (
        ledger.retry(held) == ledger.release(held) == ledger.snooze(held, delay="1 s") == ["busy"]
    )
    other.conn.rollback()
    assert ledger.outcome(held) == "yours"


def test_a_return_that_was_rolled_back_never_was(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    other.retry(held, error="boom")
    other.conn.rollback()
    assert ledger.complete(held) == ["done"]
    assert ledger.one("select count(*) from emq.attempt") == 0
