"""release_worker: all that one worker holds is taken back from it, and it can commit nothing."""

from __future__ import annotations

from tests.protocol.calls import Ledger, refused


def release(ledger: Ledger, worker: str, limit: int = 1000, label: str | None = None) -> object:
    return ledger.row(
        "select released, busy from emq.release_worker(%s, %s, %s)", worker, limit, label
    )


def test_only_what_this_worker_holds_comes_back_and_to_the_head_uncounted(ledger: Ledger) -> None:
    ids = ledger.add(4)
    mine = ledger.claim(2, worker="mine")
    theirs = ledger.claim(1, worker="theirs")
    assert release(ledger, "mine") == (2, 0)
    assert release(ledger, "mine") == (0, 0)
    again = ledger.claim(9, worker="next")
    assert [held.id for held in again] == [ids[0], ids[1], ids[3]]
    assert [(held.attempts, held.stalled, held.failures) for held in again[:2]] == [(2, 0, 0)] * 2
    assert [one.fence for one in again[:2]] > [one.fence for one in mine]
    assert ledger.complete(*theirs) == ["done"]


def test_the_late_holder_can_commit_nothing(ledger: Ledger) -> None:
    held = ledger.start(worker="mine")
    release(ledger, "mine")
    with refused("EQ001"):
        ledger.guard(held)
    for verb in (ledger.complete, ledger.retry, ledger.extend, ledger.release):
        assert verb(held) == ["lost"]
    assert ledger.complete(ledger.take()) == ["done"]


def test_an_expired_lease_that_nobody_has_reaped_is_released_uncounted(ledger: Ledger) -> None:
    ledger.abandoned(worker="mine")
    assert release(ledger, "mine") == (1, 0)
    assert ledger.take().stalled == 0


def test_a_job_under_a_guard_is_busy_and_comes_back_at_the_next_call(
    ledger: Ledger, other: Ledger
) -> None:
    ledger.add(2)
    held = ledger.claim(2, worker="mine")
    other.guard(held[0])
    assert release(ledger, "mine") == (1, 1)
    other.conn.rollback()
    assert release(ledger, "mine") == (1, 0)


def test_an_extension_that_committed_in_between_does_not_hide_a_job(
    ledger: Ledger, third: Ledger
) -> None:
    held = ledger.start(worker="mine")
    for _ in range(3):
        assert third.extend(held) == ["done"]
        assert third.extend(held) == ["done"]
    assert release(ledger, "mine") == (1, 0)


def test_batches_come_to_an_end(ledger: Ledger) -> None:
    ledger.add(5)
    ledger.claim(5, worker="mine")
    assert [release(ledger, "mine", 2) for _ in range(3)] == [(2, 0), (2, 0), (1, 0)]


def test_it_is_audited_and_told_in_the_story(ledger: Ledger) -> None:
    held = ledger.start(worker="mine")
    release(ledger, "mine", label="host is gone")
    assert ledger.rows("select verb, queue, label, detail from emq.audit") == [
        ("release_worker", None, "host is gone", {"worker": "mine", "released": 1, "busy": 0})
    ]
    told = ledger.rows("select event, worker from emq.story(%s)", held.id)
    assert ("released", "mine") in told
