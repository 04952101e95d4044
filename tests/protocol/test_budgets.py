"""max_stalled limits lost leases, max_attempts their sum with failures; nothing else counts."""

from __future__ import annotations

import pytest

from tests.protocol.calls import Ledger


def fail(ledger: Ledger, queue: str = "default") -> str:
    (answer,) = ledger.retry(ledger.take(queue), error="boom")
    return answer


def dead_letter(ledger: Ledger) -> tuple[object, ...]:
    return ledger.row("select reason, error, attempts, stalled, failures from emq.dead")


def test_a_job_is_dead_when_its_failures_reach_max_attempts(ledger: Ledger) -> None:
    ledger.add(max_attempts=2)
    assert [fail(ledger), fail(ledger)] == ["pending", "dead"]
    assert dead_letter(ledger) == ("exception", "boom", 2, 0, 2)


def test_a_job_without_max_attempts_has_that_of_its_queue_when_asked(ledger: Ledger) -> None:
    ledger.add()
    ledger.rows("select emq.configure('default', p_max_attempts => 3)")
    assert [fail(ledger), fail(ledger)] == ["pending", "pending"]
    assert fail(ledger) == "dead"


def test_a_queue_without_settings_allows_twenty_five(ledger: Ledger) -> None:
    ledger.add()
    assert [fail(ledger) for _ in range(25)] == ["pending"] * 24 + ["dead"]


def test_a_job_is_dead_when_its_lost_leases_reach_max_stalled(ledger: Ledger) -> None:
    ledger.add()
    for _ in range(2):
        ledger.stall()
    assert ledger.one("select count(*) from emq.dead") == 0
    last = ledger.stall()
    assert dead_letter(ledger) == ("stalled", None, 3, 3, 0)
    assert ledger.outcome(last) == "dead"
    hows = ledger.column("select how from emq.attempt where id = %s", last.id)
    assert hows == ["stalled"] * 3


def test_max_stalled_is_the_queues(ledger: Ledger) -> None:
    ledger.rows("select emq.configure('default', p_max_stalled => 1)")
    ledger.add()
    ledger.stall()
    assert dead_letter(ledger)[0] == "stalled"


@pytest.mark.parametrize("last", ["failure", "stall"])
def test_lost_leases_and_failures_together_reach_max_attempts(ledger: Ledger, last: str) -> None:
    id = ledger.add_one(max_attempts=2)
    if last == "failure":
        ledger.stall()
        assert fail(ledger) == "dead"
    else:
        assert fail(ledger) == "pending"
        ledger.stall()
    assert ledger.place(id) == "dead"
    assert ledger.row("select stalled, failures from emq.dead") == (1, 1)


def test_snoozes_and_releases_use_no_budget(ledger: Ledger) -> None:
    ledger.add(max_attempts=1)
    for _ in range(5):
        assert ledger.snooze(ledger.take(), delay="0 s") == ["pending"]
        assert ledger.release(ledger.take()) == ["pending"]
    held = ledger.take()
    assert (held.attempts, held.failures, held.stalled) == (11, 0, 0)
    assert ledger.retry(held) == ["dead"]


def test_a_dead_letter_keeps_the_last_fence_and_has_a_time(ledger: Ledger) -> None:
    ledger.add(max_attempts=1)
    held = ledger.take()
    ledger.retry(held)
    fence, recent = ledger.row(
        "select fence, died_at > clock_timestamp() - interval '1 min' from emq.dead"
    )
    assert (fence, recent) == (held.fence, True)
