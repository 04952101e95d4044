"""One test for each known weakness of EchoMQ that touches these verbs; the number is its own."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.protocol.calls import Held, Ledger, refused


def test_a_job_that_kills_its_workers_does_not_loop_for_ever(ledger: Ledger) -> None:
    """1: two sweeps fought over the same members, and the counting one could always lose."""
    id = ledger.add_one()
    for _ in range(10):
        if ledger.place(id) != "dead":
            ledger.expire(ledger.take(lease="1 ms"))
            ledger.reap()
            ledger.rows("select emq.check_stalled('default')")
    assert ledger.place(id) == "dead"
    assert ledger.row("select attempts, stalled from emq.dead") == (3, 3)


@pytest.mark.parametrize("threshold", [1, 2, 3])
def test_max_stalled_is_the_number_of_lost_leases_that_kills(
    ledger: Ledger, threshold: int
) -> None:
    """2: with 1 the first stall killed, where the documents said the second."""
    ledger.rows("select emq.configure('default', p_max_stalled => %s)", threshold)
    id = ledger.add_one()
    for _ in range(threshold):
        assert ledger.place(id) == "pending"
        ledger.stall()
    assert ledger.place(id) == "dead"


def give_back(ledger: Ledger, way: str) -> Held:
    held = ledger.abandoned() if way == "reap" else ledger.start()
    if way == "reap":
        ledger.reap()
    elif way == "snooze":
        ledger.snooze(held, delay="1 h")
    elif way == "retry":
        ledger.retry(held, delay="1 h", error="boom")
    elif way == "cancel":
        ledger.operate("cancel", held.id)
    else:
        ledger.release(held)
    return held


@pytest.mark.parametrize("verb", ["extend", "complete", "retry", "release", "snooze"])
@pytest.mark.parametrize("way", ["reap", "release", "retry", "snooze", "cancel"])
def test_a_fence_is_dead_once_its_job_was_given_back(ledger: Ledger, way: str, verb: str) -> None:
    """3: a token lived on after release: a job ran twice, or was deleted while it was scheduled."""
    held = give_back(ledger, way)
    place = ledger.place(held.id)
    named = {"delay": "1 s"} if verb == "snooze" else {}
    assert getattr(ledger, verb)(held, **named) == ["lost"]
    assert ledger.place(held.id) == place
    with refused("EQ007" if way in ("retry", "snooze") else "EQ001"):
        ledger.guard(held)


def test_extend_after_reap_does_not_put_the_job_into_two_places(ledger: Ledger) -> None:
    """3: extend after reap left the id both pending and active."""
    held = give_back(ledger, "reap")
    assert ledger.extend(held) == ["lost"]
    assert ledger.rows("select * from emq.misplaced") == []
    assert len(ledger.claim(9)) == 1


def test_complete_after_retry_leaves_the_retry_in_place(ledger: Ledger) -> None:
    """3: complete after retry deleted the row and left its id, and promote revived an empty job."""
    held = ledger.start()
    ledger.retry(held, delay="1 ms", error="boom")
    assert ledger.complete(held) == ["lost"]
    ledger.until(lambda: ledger.promote() == 1, "the delay is over")
    again = ledger.take()
    assert (again.id, again.task, again.payload) == (held.id, "t", {})


def test_a_late_complete_of_a_reaped_and_unclaimed_job_is_refused(ledger: Ledger) -> None:
    """4: it was accepted, though the job was in the line again."""
    held = give_back(ledger, "reap")
    assert ledger.complete(held) == ["lost"]
    assert ledger.place(held.id) == "pending"


def test_a_replayed_job_goes_on_with_its_attempts_and_has_a_fresh_budget(ledger: Ledger) -> None:
    """8: attempts were not reset and were the budget, so the next failure was death at once."""
    ledger.add_one(max_attempts=2)
    for _ in range(2):
        held = ledger.take()
        ledger.retry(held)
    ledger.operate("replay", held.id)
    again = ledger.take()
    assert again.attempts == 3
    assert ledger.retry(again) == ["pending"]


def test_an_id_that_lives_again_never_sees_an_old_fence(ledger: Ledger) -> None:
    """10: an id enqueued again after its end began at token 1, as a zombie of its first life did.

    Here the id is a duplicate for as long as its envelope is kept. After retention it may live
    again at attempt 1; there the nonce tells the two apart.
    """
    zombie = ledger.abandoned(nonce=111)
    ledger.reap()
    ledger.complete(ledger.take(nonce=112))
    assert ledger.status(zombie.id) == "duplicate"
    day = ledger.one("select (now() at time zone 'utc')::date") - timedelta(10)
    ledger.rows("select emq.archive_days(0, %s)", day)
    ledger.run("update emq.job set enqueued_at = %s", day)  # ten days cannot be waited for
    ledger.run("update emq.archive set finished_at = %s + interval '1 h'", day)
    assert ledger.retire(day) == ("dropped", 0)
    assert ledger.status(zombie.id) == "enqueued"
    second_life = ledger.take(nonce=113)
    assert second_life.attempts == zombie.attempts == 1
    assert ledger.complete(zombie) == ["lost"]
    assert ledger.complete(second_life) == ["done"]


def test_a_completion_nobody_asked_for_is_not_a_success(ledger: Ledger) -> None:
    """13: the verdict of complete was ignored. It is an answer here, and a row in refusal."""
    held = give_back(ledger, "reap")
    assert ledger.complete(held) == ["lost"]
    assert ledger.column("select verb from emq.refusal where id = %s", held.id) == ["complete"]


def test_a_crash_or_a_delay_uses_none_of_the_retry_budget(ledger: Ledger) -> None:
    """12: one counter was token, delivery count and budget; a delay consumed it."""
    ledger.add_one(max_attempts=2)
    for _ in range(4):
        ledger.snooze(ledger.take(), delay="0 s")
    held = ledger.take()
    assert (held.attempts, held.failures, held.stalled) == (5, 0, 0)
    assert ledger.retry(held) == ["pending"]


def test_a_recovered_job_keeps_its_level_and_goes_before_fresh_ones(ledger: Ledger) -> None:
    """14: reaped, retried and promoted jobs jumped by the time of their id, across levels."""
    old = ledger.add_one(priority=4)
    ledger.expire(ledger.take(lease="1 ms"))
    urgent, low = ledger.add_one(priority=0), ledger.add_one(priority=4)
    ledger.reap()
    assert [held.id for held in ledger.claim(9)] == [urgent, old, low]


def test_a_retried_or_promoted_job_does_not_jump_the_line(ledger: Ledger) -> None:
    """14: an old id was served first, whatever it had waited for."""
    retried = ledger.start()
    promoted = ledger.add_one(delay="50 ms")
    fresh = ledger.add_one()
    ledger.retry(retried)
    ledger.until(lambda: ledger.promote() == 1, "the delay is over")
    assert [held.id for held in ledger.claim(9)] == [fresh, retried.id, promoted]


def test_a_dead_letter_has_a_time(ledger: Ledger) -> None:
    """14: the dead set had none, so that nothing could be cleaned by age."""
    ledger.add_one(max_attempts=1)
    ledger.retry(ledger.take())
    assert ledger.one("select died_at between now() - interval '1 min' and now() from emq.dead")


def test_a_pause_is_part_of_the_claim(ledger: Ledger, third: Ledger) -> None:
    """15: pause was looked up before the claim, which then took a job of the paused queue."""
    ledger.add(2)
    ledger.claim(1)
    third.rows("select emq.pause('default')")
    assert ledger.claim(1) == []


def test_where_a_job_is_and_how_many_there_are_agree_in_every_place(ledger: Ledger) -> None:
    """19: a grouped pending job was `unknown`, and missing from the counts."""
    ids = [ledger.add_one("q", priority=p) for p in range(5)]
    ledger.release(ledger.take("q"))
    assert {ledger.place(id) for id in ids} == {"pending"}
    assert ledger.one("select pending from emq.depth") == 5


def test_a_full_reap_is_followed_by_the_next_page_and_starves_no_queue(ledger: Ledger) -> None:
    """20: 100 a beat, scanned across all groups: a quiet one could starve behind another."""
    ledger.add(4, "noisy")
    ledger.expire(*ledger.claim(4, "noisy", lease="1 ms"))
    quiet = ledger.abandoned("quiet")
    pages = [ledger.reap(2) for _ in range(3)]
    assert pages == [(2, 0, 0), (2, 0, 0), (1, 0, 0)]
    assert ledger.place(quiet.id) == "pending"


def test_an_id_is_remembered_after_its_job_has_completed(ledger: Ledger) -> None:
    """21: the memory of ids ended at completion; there was no result and no history of errors."""
    held = ledger.start()
    ledger.retry(held, error="boom")
    ledger.complete(ledger.take(), results=["42"])
    assert ledger.status(held.id) == "duplicate"
    assert ledger.one("select result from emq.result(%s)", held.id) == 42
    assert ledger.column("select error from emq.attempt where id = %s", held.id) == ["boom"]


def test_nothing_becomes_active_without_its_envelope(ledger: Ledger) -> None:
    """21: a claim of an id whose row was missing made a ghost with an empty payload."""
    held = ledger.start()
    ledger.complete(held)
    assert ledger.retry(held) == ledger.release(held) == ledger.extend(held) == ["lost"]
    assert ledger.claim(9) == []


def test_the_budget_belongs_to_the_job_and_its_queue_and_not_to_the_caller(ledger: Ledger) -> None:
    """21: the cap of attempts was an argument of each call, so that two callers could disagree."""
    ledger.add_one(max_attempts=1)
    parameters = ledger.one("select pg_get_function_arguments('emq.retry'::regproc)")
    assert "attempts" not in parameters
    assert ledger.retry(ledger.take()) == ["dead"]


def test_every_way_back_leads_into_the_line_that_is_claimed(ledger: Ledger) -> None:
    """8, 9: what was replayed, delayed or repeated went into another line than workers served."""
    ids = [*ledger.add(4), *ledger.add(1, max_attempts=1)]
    retried, snoozed, released, reaped, replayed = ledger.claim(5, lease="1 ms")
    assert ledger.retry(retried) == ["pending"]
    assert ledger.snooze(snoozed, delay="0 s") == ["pending"]
    assert ledger.release(released) == ["pending"]
    assert ledger.retry(replayed) == ["dead"]
    assert ledger.operate("replay", replayed.id) == "done"
    ledger.expire(reaped)
    assert ledger.reap() == (1, 0, 0)
    ids.append(ledger.add_one(delay="50 ms"))
    ledger.until(lambda: ledger.promote() == 1, "the delay is over")
    ids.append(ledger.add_one())
    assert {held.id for held in ledger.claim(9)} == set(ids)
