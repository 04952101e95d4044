"""complete: at most one accepted completion for each job, by the newest claim; a repeat is fine."""

from __future__ import annotations

import itertools

import pytest

from tests.protocol.calls import Ledger


def archived(ledger: Ledger, held_id: object) -> int:
    n: int = ledger.one("select count(*) from emq.archive where id = %s", held_id)
    return n


def test_a_held_job_is_done_and_a_stale_fence_is_lost(ledger: Ledger) -> None:
    ledger.add(3)
    a, b, c = ledger.claim(3)
    assert ledger.complete(a, b, c.stale) == ["done", "done", "lost"]
    assert [ledger.place(held.id) for held in (a, b, c)] == ["completed", "completed", "active"]


def test_a_repeat_by_the_fence_that_completed_is_done_and_changes_nothing(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.complete(held) == ["done"]
    row = ledger.row("select * from emq.archive where id = %s", held.id)
    assert ledger.complete(held) == ["done"]
    assert ledger.complete(held, held) == ["done", "done"]
    assert ledger.row("select * from emq.archive where id = %s", held.id) == row


def test_a_repeat_in_one_call_is_done_both_times(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.complete(held, held) == ["done", "done"]
    assert archived(ledger, held.id) == 1


def test_another_fence_than_the_one_that_completed_is_lost(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.complete(held) == ["done"]
    assert ledger.complete(held.stale) == ["lost"]
    assert ledger.complete((held.id, held.fence - 1)) == ["lost"]


def test_each_refusal_is_recorded_with_the_fence_that_holds_the_job(ledger: Ledger) -> None:
    held = ledger.start()
    for verb in (ledger.complete, ledger.extend, ledger.release, ledger.retry):
        assert verb(held.stale) == ["lost"]
    rows = ledger.rows("select verb, fence, held from emq.refusal where id = %s", held.id)
    assert sorted(rows) == [
        (verb, held.fence + 1, held.fence) for verb in ("complete", "extend", "release", "retry")
    ]


def test_no_jobs_have_no_answers(ledger: Ledger) -> None:
    assert ledger.complete() == ledger.extend() == ledger.release() == ledger.retry() == []


def test_a_result_is_kept_with_the_fence_and_the_worker(ledger: Ledger) -> None:
    ledger.add(2, "res")
    a, b = ledger.claim(2, "res")
    assert ledger.complete(a, b, results=['{"a": 1}', None]) == ["done", "done"]
    rows = ledger.rows(
        "select status, fence, result, queue, worker, attempts from emq.archive order by id"
    )
    assert rows == [
        ("completed", a.fence, {"a": 1}, "res", "w1", 1),
        ("completed", b.fence, None, "res", "w1", 1),
    ]
    assert ledger.one("select result from emq.result(%s)", a.id) == {"a": 1}
    assert ledger.rows("select result from emq.result(%s)", ledger.add_one()) == []


@pytest.mark.parametrize("order", [*itertools.product("gs", repeat=2), tuple("ggs")])
@pytest.mark.parametrize(
    ("verb", "good"),
    [("complete", "done"), ("extend", "done"), ("retry", "pending"), ("release", "pending")],
)
def test_a_stale_fence_beside_the_good_one_is_lost_and_the_good_one_is_not(
    ledger: Ledger, verb: str, good: str, order: tuple[str, ...]
) -> None:
    held = ledger.start()
    pairs = [held if which == "g" else held.stale for which in order]
    expected = [good if which == "g" else "lost" for which in order]
    assert getattr(ledger, verb)(*pairs) == expected
    if verb == "complete":
        assert ledger.complete(*pairs) == expected
        assert archived(ledger, held.id) == ("g" in order)


def test_a_null_id_or_fence_is_lost_and_does_not_raise(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.complete((held.id, None), (None, 5), (None, None)) == ["lost"] * 3
    assert ledger.extend((held.id, None), (None, 5)) == ["lost"] * 2
    assert ledger.complete(held) == ["done"]


def test_a_lease_that_expired_and_was_not_reaped_still_completes(ledger: Ledger) -> None:
    held = ledger.abandoned()
    assert ledger.complete(held) == ["done"]
    assert ledger.reap() == (0, 0, 0)


def test_the_envelope_stays_when_the_job_is_done(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.complete(held)
    assert ledger.one("select count(*) from emq.job where id = %s", held.id) == 1


def test_a_completion_in_an_open_transaction_is_busy_for_everybody_else(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    assert other.complete(held) == ["done"]
    assert ledger.complete(held) == ["busy"]
    assert ledger.extend(held) == ["busy"]
    assert ledger.retry(held) == ["busy"]
    assert ledger.release(held) == ["busy"]
    other.conn.commit()
    assert ledger.complete(held) == ["done"]
    assert ledger.extend(held) == ledger.retry(held) == ["lost"]


def test_a_completion_that_was_rolled_back_may_be_made_again(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    assert other.complete(held) == ["done"]
    other.conn.rollback()
    assert ledger.outcome(held) == "yours"
    assert ledger.complete(held) == ["done"]


def test_one_row_that_is_busy_delays_no_other(ledger: Ledger, other: Ledger) -> None:
    ledger.add(2)
    a, b = ledger.claim(2)
    other.guard(a)
    assert ledger.complete(a, b) == ["busy", "done"]
    assert ledger.complete(a.stale) == ["lost"]


def test_effects_and_completion_are_one_commit(ledger: Ledger, other: Ledger) -> None:
    ledger.run("create table effect (job uuid)")
    held = ledger.start()
    for end, rows in ((other.conn.rollback, 0), (other.conn.commit, 1)):
        other.run("insert into effect values (%s)", held.id)
        other.guard(held)
        assert other.complete(held) == ["done"]
        end()
        assert ledger.one("select count(*) from effect") == rows
    assert ledger.outcome(held) == "completed"


def test_an_effect_of_a_holder_that_lost_its_job_does_not_commit(
    ledger: Ledger, other: Ledger
) -> None:
    ledger.run("create table effect (job uuid)")
    held = ledger.abandoned()
    assert ledger.reap() == (1, 0, 0)
    other.run("insert into effect values (%s)", held.id)
    assert other.complete(held) == ["lost"]
    other.conn.rollback()
    assert ledger.one("select count(*) from effect") == 0
