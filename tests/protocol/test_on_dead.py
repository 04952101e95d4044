"""on_dead: each dead letter enqueues its queue's task, whichever way the job died."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.protocol.calls import Held, Ledger

WAYS: dict[str, Callable[[Ledger, Held], object]] = {
    "exception": lambda ledger, held: ledger.retry(held, error="boom"),
    "timeout": lambda ledger, held: ledger.fail(held, reason="timeout", error="boom"),
    "permanent": lambda ledger, held: ledger.fail(held, reason="permanent", error="boom"),
    "stalled": lambda ledger, held: (ledger.expire(held), ledger.reap()),
}


def die(ledger: Ledger, how: str, queue: str = "default") -> Held:
    ledger.add_one(queue, max_attempts=1)
    held = ledger.take(queue, lease="1 ms" if how == "stalled" else None)
    WAYS[how](ledger, held)
    return held


@pytest.mark.parametrize("how", WAYS)
def test_the_hook_is_a_job_and_the_same_but_for_the_reason(ledger: Ledger, how: str) -> None:
    ledger.set_queue(on_dead="tell_somebody", on_dead_queue="alarms")
    held = die(ledger, how)
    hook = ledger.take("alarms")
    assert hook.task == "tell_somebody"
    assert hook.payload == {
        "job_id": str(held.id), "queue": "default", "task": "t", "reason": how,
        "error": None if how == "stalled" else "boom", "attempts": 1,
        "stalled": int(how == "stalled"), "failures": int(how != "stalled"),
    }  # fmt: skip
    assert ledger.complete(hook) == ["done"]


def test_it_stands_in_the_same_queue_when_no_other_is_named(ledger: Ledger) -> None:
    ledger.set_queue(on_dead="tell_somebody")
    die(ledger, "exception")
    assert ledger.take().task == "tell_somebody"


def test_without_a_setting_nobody_is_told(ledger: Ledger) -> None:
    die(ledger, "exception")
    assert ledger.claim() == []


def test_it_exists_if_and_only_if_the_death_commits(ledger: Ledger, other: Ledger) -> None:
    ledger.set_queue(on_dead="tell_somebody")
    ledger.add_one(max_attempts=1)
    held = ledger.take()
    assert other.retry(held) == ["dead"]
    other.conn.rollback()
    assert ledger.claim() == []
    assert ledger.outcome(held) == "yours"


def test_a_dead_letter_of_the_hook_itself_tells_nobody(ledger: Ledger) -> None:
    ledger.set_queue(on_dead="tell_somebody")
    die(ledger, "exception")
    hook = ledger.take()
    assert ledger.fail(hook, reason="permanent") == ["dead"]
    assert ledger.claim() == []
    assert ledger.one("select count(*) from emq.dead") == 2


def test_the_hooks_of_two_queues_do_not_tell_each_other_for_ever(ledger: Ledger) -> None:
    ledger.set_queue("x", on_dead="tell_x", on_dead_queue="y", max_attempts=1)
    ledger.set_queue("y", on_dead="tell_y", on_dead_queue="x", max_attempts=1)
    die(ledger, "exception", "x")
    hook = ledger.take("y")
    assert ledger.fail(hook, reason="exception") == ["dead"]
    assert ledger.claim_any(9, "x", "y") == []


def test_what_dies_in_a_quarantine_is_told_by_the_queue_from_which_it_came(ledger: Ledger) -> None:
    ledger.set_queue("other", quarantine="sick", on_dead="tell_other")
    ledger.set_queue(quarantine="sick", quarantine_after=1, on_dead="tell", on_dead_queue="alarms")
    id = ledger.add_one(max_attempts=2)
    ledger.stall()
    assert ledger.fail(ledger.take("sick"), reason="exception") == ["dead"]
    hook = ledger.take("alarms")
    assert (hook.task, hook.payload["job_id"]) == ("tell", str(id))
    ledger.set_queue("sick", on_dead="tell_sick")
    ledger.add_one(max_attempts=2)
    ledger.stall()
    assert ledger.fail(ledger.take("sick"), reason="exception") == ["dead"]
    assert ledger.take("sick").task == "tell_sick"
    assert ledger.claim_any(9, "alarms", "other", "default") == []


def test_each_of_a_reaped_batch_has_its_own(ledger: Ledger) -> None:
    ledger.set_queue(on_dead="tell_somebody", on_dead_queue="alarms", max_stalled=1)
    ledger.add(5)
    held = ledger.claim(5, lease="1 ms")
    ledger.expire(*held)
    assert ledger.reap() == (0, 5, 0)
    told = {hook.payload["job_id"] for hook in ledger.claim(9, "alarms")}
    assert told == {str(one.id) for one in held}
