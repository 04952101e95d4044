"""The read side: ledger, depth, place, story, envelope, misplaced."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def test_each_place_a_job_can_be_in_has_its_word(ledger: Ledger) -> None:
    pending = ledger.add_one("a")
    scheduled = ledger.add_one("b", delay="1 h")
    active = ledger.start("c")
    ledger.add_one("d", max_attempts=1)
    dead = ledger.take("d")
    ledger.retry(dead)
    completed = ledger.start("e")
    ledger.complete(completed)
    cancelled = ledger.add_one("f")
    ledger.operate("cancel", cancelled)
    places = {
        pending: "pending", scheduled: "scheduled", active.id: "active", dead.id: "dead",
        completed.id: "completed", cancelled: "cancelled",
    }  # fmt: skip
    assert {id: ledger.place(id) for id in places} == places
    assert ledger.rows("select * from emq.place(emq.uuid7())") == []


def test_place_says_who_since_when_and_the_counts(ledger: Ledger) -> None:
    ledger.abandoned(worker="gone")
    ledger.reap()
    held = ledger.take(worker="w2")
    row = ledger.row(
        "select place, queue, task, priority, attempts, stalled, failures, worker, until"
        " from emq.place(%s)", held.id,
    )  # fmt: skip
    assert row == ("active", "default", "t", 2, 2, 1, 0, "w2", held.lease_deadline)


def test_the_depth_of_a_queue_counts_each_place(ledger: Ledger) -> None:
    ledger.abandoned("q")
    ledger.start("q")
    ledger.add_one("q", max_attempts=1)
    ledger.retry(ledger.take("q"))
    ledger.add(3, "q")
    ledger.add(2, "q", delay="1 h")
    ledger.rows("select emq.pause('empty')")
    rows = ledger.rows(
        "select queue, paused, pending, scheduled, active, expired, dead, oldest_seconds >= 0"
        " from emq.depth order by queue"
    )
    assert rows == [
        ("empty", True, 0, 0, 0, 0, 0, None),
        ("q", False, 3, 2, 2, 1, 1, True),
    ]


def test_the_oldest_of_a_queue_is_found_in_any_level(ledger: Ledger) -> None:
    ledger.add_one("q", priority=4)
    ledger.wait("clock_timestamp() > (select max(enqueued_at) from emq.job) + interval '50 ms'")
    ledger.add_one("q", priority=0)
    assert ledger.one("select oldest_seconds > 0.05 from emq.depth")


def test_the_story_of_a_job_is_told_in_order(ledger: Ledger) -> None:
    first = ledger.abandoned("q", worker="w1")
    ledger.reap()
    ledger.complete(first)
    second = ledger.take("q", worker="w2")
    ledger.retry(second, error="boom")
    third = ledger.take("q", worker="w3")
    ledger.complete(third, results=['{"ok": true}'])
    told = ledger.rows("select event, attempts, worker from emq.story(%s)", first.id)
    assert told == [
        ("enqueued", None, None),
        ("claimed", 1, "w1"), ("stalled", 1, "w1"), ("refused", 1, "w1"),
        ("claimed", 2, "w2"), ("failed", 2, "w2"),
        ("claimed", 3, "w3"), ("completed", 3, "w3"), ("archived", None, None),
    ]  # fmt: skip
    details = ledger.column("select detail from emq.story(%s) where detail is not null", first.id)
    assert details[0] == "task t, queue q, priority 2"
    refused = "complete under a stale fence; the job was held by nobody; late by "
    assert [detail for detail in details if detail and detail.startswith(refused)]
    assert "boom" in details
    assert details[-2] == '{"ok": true}'


def test_the_story_of_a_dead_and_of_a_cancelled_job_has_its_end(ledger: Ledger) -> None:
    ledger.add_one(max_attempts=1)
    dead = ledger.take()
    ledger.retry(dead, error="boom")
    cancelled = ledger.add_one()
    ledger.operate("cancel", cancelled)
    events = [
        dict(ledger.rows("select event, detail from emq.story(%s)", id))
        for id in (dead.id, cancelled)
    ]
    assert events[0]["dead"] == "exception: boom"
    assert events[1]["cancelled"] is None
    assert "dead" not in events[1] and "archived" not in events[0]


def test_the_envelope_is_what_was_enqueued(ledger: Ledger) -> None:
    id = ledger.add_one(
        "q",
        task="mail",
        payload='{"n": 1}',
        headers='{"h": 2}',
        priority=1,
        max_attempts=4,
        lease="9 s",
    )
    row = ledger.row(
        "select queue, task, payload, headers, priority, max_attempts, lease_ms"
        " from emq.envelope(%s)",
        id,
    )
    assert row == ("q", "mail", {"n": 1}, {"h": 2}, 1, 4, 9000)


def test_an_expired_lease_is_shown_as_such(ledger: Ledger) -> None:
    ledger.abandoned()
    assert ledger.row("select lease_state, seconds_left < 0 from emq.ledger") == ("expired", True)


def test_misplaced_shows_a_job_in_two_places_in_none_and_without_envelope(
    ledger: Ledger, other: Ledger
) -> None:
    """The view itself must not be blind; the rows are made by hand and rolled back."""
    held = ledger.start()
    assert other.rows("select * from emq.misplaced") == []
    put = "insert into emq.pending (id, queue, rank) values (%s, 'default', 5)"
    other.run(put, held.id)
    assert other.rows("select * from emq.misplaced") == [(held.id, 2)]
    other.run("delete from emq.pending; delete from emq.active")
    assert other.rows("select * from emq.misplaced") == [(held.id, 0)]
    other.run("delete from emq.job")
    other.run(put, held.id)
    assert other.rows("select * from emq.misplaced") == [(held.id, -1)]
    other.conn.rollback()


def test_a_job_that_finished_before_it_was_enqueued_is_in_its_place(ledger: Ledger) -> None:
    """As when the clock went back in between; it cannot be moved here, so the instant is."""
    held = ledger.start()
    ledger.complete(held)
    ledger.run("update emq.job set enqueued_at = enqueued_at + interval '50 min'")
    assert ledger.place(held.id) == "completed"
    assert ledger.rows("select * from emq.misplaced") == []


def test_workers_are_shown_until_they_leave(ledger: Ledger) -> None:
    for slots in (4, 6):
        ledger.rows("select emq.worker_seen('w1', array['a', 'b'], %s, '0.1')", slots)
    row = ledger.row("select name, queues, slots, version, seen_at > started_at from emq.worker")
    assert row == ("w1", ["a", "b"], 6, "0.1", True)
    ledger.rows("select emq.worker_gone('w1')")
    assert ledger.rows("select * from emq.worker") == []
