"""fail: a run has failed, and its reason says what becomes of the job."""

from __future__ import annotations

import pytest

from tests.protocol.calls import Ledger, refused

COUNTED = pytest.mark.parametrize("reason", ["exception", "timeout"])
AT_ONCE = pytest.mark.parametrize("reason", ["permanent", "expired"])


def dead(ledger: Ledger) -> tuple[object, ...]:
    return ledger.row("select reason, error, stalled, failures, task, worker from emq.dead")


@COUNTED
def test_a_failure_waits_its_delay_and_counts(ledger: Ledger, reason: str) -> None:
    held = ledger.start()
    assert ledger.fail(held, reason=reason, delay="1 h", error="boom") == ["scheduled"]
    assert ledger.row("select attempts, stalled, failures from emq.scheduled") == (1, 0, 1)
    assert ledger.one("select error from emq.attempt") == "boom"


@COUNTED
def test_a_failure_out_of_budget_is_a_dead_letter_with_its_reason(
    ledger: Ledger, reason: str
) -> None:
    ledger.add_one(max_attempts=2)
    assert ledger.fail(ledger.take(), reason=reason) == ["pending"]
    assert ledger.fail(ledger.take(worker="w2"), reason=reason, error="boom") == ["dead"]
    assert dead(ledger) == (reason, "boom", 0, 2, "t", "w2")


@COUNTED
def test_lost_leases_count_into_the_budget_of_failures(ledger: Ledger, reason: str) -> None:
    ledger.add_one(max_attempts=2)
    ledger.stall()
    assert ledger.fail(ledger.take(), reason=reason) == ["dead"]
    assert dead(ledger)[2:4] == (1, 1)


@AT_ONCE
def test_what_no_retry_can_help_is_dead_at_once(ledger: Ledger, reason: str) -> None:
    held = ledger.start()
    assert ledger.fail(held, reason=reason, delay="1 h", error="no") == ["dead"]
    assert dead(ledger)[:4] == (reason, "no", 0, int(reason == "permanent"))
    assert ledger.outcome(held) == "dead"


def test_a_job_that_nobody_knows_waits_at_no_cost(ledger: Ledger) -> None:
    ledger.add_one(max_attempts=1)
    assert ledger.fail(ledger.take(), reason="no handler", delay="1 h") == ["scheduled"]
    assert ledger.row("select attempts, stalled, failures from emq.scheduled") == (1, 0, 0)
    assert ledger.one("select how from emq.attempt") == "snoozed"


def test_a_job_that_nobody_knows_is_dead_when_its_queue_has_waited_enough(ledger: Ledger) -> None:
    ledger.set_queue(unknown_after="1 h")
    young = ledger.start()
    assert ledger.fail(young, reason="no handler") == ["pending"]
    ledger.set_queue(unknown_after="1 us")
    assert ledger.fail(ledger.take(), reason="no handler", error="no task t") == ["dead"]
    assert dead(ledger)[:4] == ("no handler", "no task t", 0, 0)


def test_a_stale_fence_changes_nothing_and_is_recorded(ledger: Ledger) -> None:
    held = ledger.start()
    assert ledger.fail(held.stale, held, reason="permanent") == ["lost", "dead"]
    assert ledger.column("select verb from emq.refusal") == ["fail"]


def test_it_never_waits_for_an_open_transaction(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    other.guard(held)
    assert ledger.fail(held, reason="exception") == ["busy"]


@pytest.mark.parametrize("reason", ["stalled", "Exception", "", None])
def test_another_reason_is_refused_and_nothing_is_done(ledger: Ledger, reason: str) -> None:
    held = ledger.start()
    with refused("EQ006", hint="permanent"):
        ledger.fail(held, reason=reason)
    assert ledger.outcome(held) == "yours"


def test_a_reason_is_needed_for_each(ledger: Ledger) -> None:
    one, two = ledger.start(), ledger.start()
    with refused("EQ006", names="for each"):
        ledger.rows(
            "select emq.fail(%s::uuid[], %s::bigint[], array['permanent'])",
            [one.id, two.id], [one.fence, two.fence],
        )  # fmt: skip
    assert ledger.outcome(one) == ledger.outcome(two) == "yours"


def test_each_of_many_goes_where_its_own_reason_says(ledger: Ledger) -> None:
    held = [ledger.start() for _ in range(4)]
    answers = ledger.one(
        "select emq.fail(%s::uuid[], %s::bigint[], %s, %s::interval[], %s)",
        [one.id for one in held], [one.fence for one in held],
        ["permanent", "exception", "no handler", "timeout"],
        ["1 h", "1 h", "0", None], ["a", "b", "c", "d"],
    )  # fmt: skip
    assert answers == ["dead", "scheduled", "pending", "pending"]
    assert ledger.rows("select id, how, error from emq.attempt order by error") == [
        (held[0].id, "failed", "a"), (held[1].id, "failed", "b"),
        (held[2].id, "snoozed", "c"), (held[3].id, "timed out", "d"),
    ]  # fmt: skip
