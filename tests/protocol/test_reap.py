"""reap: the one counted recovery. Expired leases go to the head of their level; nobody waits."""

from __future__ import annotations

from tests.protocol.calls import Held, Ledger


def test_an_expired_lease_is_taken_back_and_counted(ledger: Ledger) -> None:
    held = ledger.abandoned()
    assert ledger.reap() == (1, 0, 0)
    again = ledger.take()
    assert (again.id, again.attempts, again.stalled, again.failures) == (held.id, 2, 1, 0)


def test_a_lease_that_runs_is_left(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.reap() == (0, 0, 0)
    assert ledger.outcome(held) == "yours"


def test_a_recovered_job_is_claimed_before_fresh_ones_of_its_level_and_after_higher_levels(
    ledger: Ledger,
) -> None:
    held = ledger.abandoned()
    fresh = ledger.add_one()
    urgent = ledger.add_one(priority=0)
    ledger.reap()
    assert [one.id for one in ledger.claim(3)] == [urgent, held.id, fresh]


def test_a_stale_worker_cannot_complete(ledger: Ledger) -> None:
    held = ledger.abandoned()
    ledger.reap()
    assert ledger.complete(held) == ["lost"]
    newer = ledger.take()
    assert ledger.complete(held) == ["lost"]
    assert ledger.complete(newer) == ["done"]
    assert ledger.complete(held) == ["lost"]


def test_the_attempt_that_stalled_has_its_row(ledger: Ledger) -> None:
    held = ledger.abandoned(worker="gone")
    ledger.reap()
    row = ledger.row("select how, fence, worker, lease_deadline, error from emq.attempt")
    assert row == ("stalled", held.fence, "gone", held.lease_deadline, None)


def test_reap_takes_no_more_than_its_limit_and_is_called_again_for_the_rest(ledger: Ledger) -> None:
    ledger.add(5)
    ledger.expire(*ledger.claim(5, lease="1 ms"))
    assert [ledger.reap(2) for _ in range(4)] == [(2, 0, 0), (2, 0, 0), (1, 0, 0), (0, 0, 0)]


def test_two_reaps_at_once_count_each_lease_once(ledger: Ledger, other: Ledger) -> None:
    held = ledger.abandoned()
    assert other.reap() == (1, 0, 0)
    assert ledger.reap() == (0, 0, 0)
    other.conn.commit()
    assert ledger.reap() == (0, 0, 0)
    assert ledger.take().stalled == 1
    assert ledger.one("select count(*) from emq.attempt where id = %s", held.id) == 1


def test_a_job_that_is_being_completed_is_left(ledger: Ledger, other: Ledger) -> None:
    held = ledger.abandoned()
    assert other.complete(held) == ["done"]
    assert ledger.reap() == (0, 0, 0)
    other.conn.commit()
    assert ledger.outcome(held) == "completed"


def test_an_extend_that_commits_first_saves_the_lease(ledger: Ledger, other: Ledger) -> None:
    held = ledger.abandoned()
    other.extend(held, lease="60 s")
    assert ledger.reap() == (0, 0, 0)
    other.conn.commit()
    assert ledger.reap() == (0, 0, 0)
    assert ledger.complete(held) == ["done"]


def boom(ledger: Ledger, victim: Held, table: str = "pending") -> None:
    """From now on the place that this job must go to refuses it."""
    ledger.run(f"alter table emq.{table} add constraint boom check (id <> '{victim.id}')")


def test_one_bad_row_stops_nobody_and_is_taken_when_it_is_well_again(ledger: Ledger) -> None:
    ledger.add(3)
    held = ledger.claim(3, lease="1 ms")
    ledger.expire(*held)
    boom(ledger, held[1])
    assert ledger.reap() == (2, 0, 1)
    assert ledger.place(held[1].id) == "active"
    ledger.run("alter table emq.pending drop constraint boom")
    assert ledger.reap() == (1, 0, 0)
    assert ledger.one("select count(*) from emq.attempt") == 3


def test_a_batch_done_row_by_row_counts_and_kills_as_the_statement_does(ledger: Ledger) -> None:
    ids = [ledger.add_one(), ledger.add_one(max_attempts=1), ledger.add_one(lease="250 ms")]
    held = ledger.claim(3, lease="1 ms")
    ledger.expire(*held)
    bad = ledger.start(lease="1 ms")
    ledger.expire(bad)
    boom(ledger, bad)
    assert ledger.reap() == (2, 1, 1)
    assert [ledger.place(id) for id in ids] == ["pending", "dead", "pending"]
    assert ledger.row("select reason, stalled from emq.dead") == ("stalled", 1)
    fresh = ledger.add_one()
    again = ledger.claim(3)
    assert [(one.id, one.stalled) for one in again] == [(ids[0], 1), (ids[2], 1), (fresh, 0)]
    assert [one.lease_ms for one in again] == [30000, 250, 30000]
    ledger.run("alter table emq.pending drop constraint boom")
    assert ledger.reap() == (1, 0, 0)


def test_each_reap_that_found_something_is_in_the_log_with_who_and_what(ledger: Ledger) -> None:
    ledger.run("set application_name = 'worker 9'")
    ledger.abandoned()
    ledger.add_one(max_attempts=1)
    ledger.expire(ledger.take(lease="1 ms"))
    ledger.reap()
    rows = ledger.rows("select recovered, dead, skipped, who from emq.reap_log where recovered > 0")
    assert rows == [(1, 1, 0, "worker 9")]


def test_a_reap_that_found_nothing_is_logged_once_in_a_while(ledger: Ledger) -> None:
    for _ in range(4):
        ledger.reap()
    assert ledger.one("select count(*) from emq.reap_log") == 1


def test_the_log_is_kept_for_a_day(ledger: Ledger) -> None:
    ledger.run(
        "insert into emq.reap_log (at, recovered, dead, skipped, who)"
        " values (clock_timestamp() - interval '25 h', 1, 0, 0, 'x')"
    )  # a row of yesterday cannot be had by waiting
    ledger.reap()
    assert ledger.column("select who from emq.reap_log where who = 'x'") == []
