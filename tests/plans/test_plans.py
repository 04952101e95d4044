"""Every function keeps its plan when statistics say that a hot table is empty."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from emq_sql.minting import new_id
from tests.plans.plans import Watch, watching
from tests.protocol.calls import Ledger

DAY = "(now() at time zone 'utc')::date - 10"


def enqueue(ledger: Ledger) -> None:
    ledger.add()
    ledger.add(delay="1 h")
    ledger.add_many([new_id(), new_id()])
    ledger.add_many([new_id(), new_id()], delays=[None, "1 h"])


def claim(ledger: Ledger) -> None:
    ledger.claim(1)
    ledger.claim(20)


def claimed(ledger: Ledger) -> None:
    ledger.claimed(7)


def complete(ledger: Ledger) -> None:
    held = ledger.claim(3)
    ledger.complete(*held)
    ledger.complete(*held)
    ledger.complete(held[0].stale)


def complete_and_claim(ledger: Ledger) -> None:
    held = ledger.claim(2)
    ledger.rows(
        "select id from emq.complete_and_claim("
        " %s::uuid[], %s::bigint[], null, 'default', 5, 'w', 3)",
        [one.id for one in held], [one.fence for one in held],
    )  # fmt: skip


def extend(ledger: Ledger) -> None:
    held = ledger.claim(3)
    ledger.extend(*held, held[0].stale)


def put_back(ledger: Ledger) -> None:
    a, b, c, d = ledger.claim(4)
    ledger.retry(a, a.stale, error="boom")
    ledger.retry(b, delay="1 h", error="boom")
    ledger.snooze(c, delay="1 s")
    ledger.release(d)


def keep(ledger: Ledger) -> None:
    held = ledger.take()
    ledger.keep(held, (new_id(), 1), queues=["default", "mail"])
    ledger.operate("cancel", held.id)
    ledger.keep(held)


def claim_any(ledger: Ledger) -> None:
    assert len(ledger.claim_any(5, "none", "default")) == 5


def stall(ledger: Ledger) -> None:
    ledger.stall_at_once(*ledger.claim(3), (new_id(), 1))


def fail(ledger: Ledger) -> None:
    """With all that hangs on it: quarantine, the hook of a dead letter, the last chance."""
    ledger.set_queue(quarantine="sick", quarantine_after=1, on_dead="tell", unknown_after="1 day")
    for held, reason in zip(
        ledger.claim(5), ("exception", "timeout", "permanent", "expired", "no handler"), strict=True
    ):
        ledger.fail(held, (new_id(), 1), reason=reason, error="boom")
    ledger.stall_at_once(ledger.take())
    held = ledger.take("sick")
    ledger.rows("select emq.last_chance(%s::uuid[], %s::bigint[])", [held.id], [held.fence])


def guard(ledger: Ledger) -> None:
    ledger.guard(ledger.take())


def reap(ledger: Ledger) -> None:
    ledger.expire(*ledger.claim(3, lease="1 ms"))
    assert ledger.reap() == (3, 0, 0)
    ledger.expire(*ledger.claim(3, lease="1 ms"))
    ledger.rows("select emq.check_stalled('default', 1)")


def promote(ledger: Ledger) -> None:
    ledger.add(delay="50 ms")
    ledger.until(lambda: ledger.promote() == 1, "the delay is over")


def maintain(ledger: Ledger) -> None:
    for _ in range(3):
        ledger.maintain()
    ledger.rows("select * from emq.maintain_due('0 s')")


def outcome(ledger: Ledger) -> None:
    held = ledger.take()
    ledger.outcome(held)
    ledger.outcome((new_id(), 1))
    ledger.complete(held)
    ledger.outcome(held)


def operators(ledger: Ledger) -> None:
    ledger.operate("cancel", ledger.take().id)
    ledger.operate("cancel", ledger.add_one(delay="1 h"))
    ledger.operate("cancel", ledger.add_one())
    for verb in ("replay", "discard"):
        ledger.add_one(priority=0, max_attempts=1)
        held = ledger.take()
        ledger.retry(held)
        ledger.operate(verb, held.id)
    for verb in ("replay_count('{}')", "replay_many('{}')", "discard_many('{}', 'why')"):
        ledger.add_one(priority=0, max_attempts=1)
        ledger.retry(ledger.take())
        ledger.run("update emq.dead set task = null")  # so that the envelope is looked into
        ledger.rows("select * from emq.dead_list(), emq.dead_groups()")
        ledger.rows(f"select * from emq.{verb}")


def emptying(ledger: Ledger) -> None:
    """What operators do to many jobs, and producers to none."""
    ledger.add_one(task="another", delay="1 h")
    for task in ("t", "another", "new"):
        ledger.rows("select * from emq.enqueue_unless_waiting('default', %s, '{}')", task)
    for key in ("k", "k", "l"):
        ledger.rows(
            "select * from emq.enqueue_unique('default', array[%s], array[emq.uuid7()],"
            " array['t'], array['{}']::jsonb[], array['waiting'])",
            key,
        )
    ledger.claim(2, worker="mine")
    ledger.rows("select * from emq.release_worker('mine', 5)")
    ledger.rows("select * from emq.drain('default', 100, true)")


def retire(ledger: Ledger) -> None:
    ledger.rows(f"select emq.archive_days(0, {DAY})")
    held = ledger.claim(3)
    ledger.complete(*held)
    ids = [one.id for one in held]
    with_day = f"update emq.archive set finished_at = {DAY} where id = any (%s)"
    ledger.run(with_day, ids)
    ledger.run(f"update emq.job set enqueued_at = {DAY} where id = any (%s)", ids)
    assert ledger.one(f"select count(*) from emq.export_rows({DAY}, null, null, 10)") == 3
    ledger.retire(ledger.one(f"select {DAY}"), 2)


def tidy(ledger: Ledger) -> None:
    """Each kind of step, of which each has something to do."""
    ledger.rows(f"select emq.archive_days(0, {DAY} - 40), emq.archive_days(0, {DAY})")
    ledger.set_queue(retention="1 day", dead_retention="1 day")
    ledger.add_one(priority=0, max_attempts=1)
    dead, waiting, *done = ledger.claim(5)
    ledger.retry(dead, waiting)
    ledger.complete(*done)
    ids = [one.id for one in done]
    ledger.run(f"update emq.archive set finished_at = {DAY} where id = any (%s)", ids)
    ledger.run(f"update emq.job set enqueued_at = {DAY} where id = any (%s)", ids)
    ledger.run(f"update emq.attempt set ended_at = {DAY} - 40")
    ledger.run(f"update emq.dead set died_at = {DAY}")
    while ledger.one("select did from emq.tidy(2)") != "nothing":
        pass
    assert ledger.one("select count(*) from emq.attempt_default") == 2
    assert ledger.row("select id, status from emq.archive") == (dead.id, "discarded")


VERBS = [
    enqueue, claim, claimed, complete, complete_and_claim, extend, put_back, guard, reap, promote,
    maintain, outcome, operators, emptying, retire, keep, stall, claim_any, fail,
    tidy,
]  # fmt: skip


def run(ledger: Ledger, verb: Callable[[Ledger], None]) -> Watch:
    ledger.add(12)
    with watching(ledger) as watch:
        verb(ledger)
    return watch


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_no_function_walks_a_whole_hot_table(
    emptied: Ledger, verb: Callable[[Ledger], None]
) -> None:
    watch = run(emptied, verb)
    assert watch.tables() - {""} or verb is enqueue, "no plan was seen"
    assert watch.unsafe() == []


@pytest.mark.parametrize("emptied", ["truncated"], indirect=True)
def test_the_planner_would_walk_them_without_the_functions_settings(emptied: Ledger) -> None:
    """The temptation is there: else the test above could not fail."""
    emptied.run("alter function emq.complete reset all")
    assert run(emptied, complete).unsafe() != []


DEFAULTS = ["enable_nestloop = off", "enable_indexscan = off", "enable_tidscan = off", "jit = on"]


@pytest.mark.parametrize("setting", DEFAULTS)
def test_the_verbs_work_under_any_planner_setting_of_the_session(
    ledger: Ledger, setting: str
) -> None:
    ledger.run(f"set {setting}")
    ledger.add(5)
    held = ledger.claim(5)
    assert len(held) == 5
    assert ledger.extend(*held) == ["done"] * 5
    assert ledger.complete(*held[:2]) == ["done"] * 2
    assert ledger.retry(*held[2:]) == ["pending"] * 3
    ledger.expire(*ledger.claim(5, lease="1 ms"))
    assert ledger.reap() == (3, 0, 0)
