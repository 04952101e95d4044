"""obliterate: everything of a queue goes, in batches that each leave every job whole or gone."""

from __future__ import annotations

from tests.protocol.calls import Held, Ledger, refused
from tests.protocol.emptying import TABLES, batches, counts, last, obliterate

NOTHING = dict.fromkeys(TABLES, 0)


def one_of_each(ledger: Ledger, queue: str = "default") -> None:
    """Jobs in every place but the ledger, with all that is told of them."""
    for _ in range(2):
        ledger.add_one(queue, max_attempts=1)
        assert ledger.retry(ledger.take(queue), error="boom") == ["dead"]
    done = ledger.start(queue)
    assert ledger.one("select emq.once(%s, %s, %s)", f"of {queue}", done.id, done.fence)
    ledger.complete(done)
    assert ledger.complete(done.stale) == ["lost"]  # leaves a refusal
    ledger.operate("cancel", ledger.start(queue).id)
    held = ledger.abandoned(queue)
    assert ledger.extend(held) == ["done"]  # late
    ledger.complete(held)
    ledger.add(3, queue)
    ledger.release(ledger.take(queue))
    ledger.add(2, queue, delay="1 h")


def test_nothing_of_the_queue_is_left_and_nothing_of_another_is_touched(ledger: Ledger) -> None:
    one_of_each(ledger, "other")
    ledger.rows("select emq.set_queue('other', '{\"lease\": \"1 min\"}')")
    kept = counts(ledger)
    one_of_each(ledger)
    ledger.rows("select emq.set_queue('default', '{\"lease\": \"1 min\"}')")
    assert counts(ledger) == {table: 2 * n for table, n in kept.items()}
    assert all(n for table, n in kept.items() if table != "active")
    found = list(batches(ledger, limit=2))
    assert (found[-1].status, found[-1].remaining) == ("done", 0)
    assert sum(batch.erased for batch in found) == kept["job"]
    assert counts(ledger) == kept
    assert ledger.column("select name from emq.queue") == ["other"]


def test_an_id_that_is_gone_is_a_new_job_when_it_comes_again(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.complete(held)
    assert last(ledger).status == "done"
    assert ledger.status(held.id) == "enqueued"
    assert ledger.outcome(held) == "superseded"


def test_a_key_of_the_inbox_is_free_again_when_its_job_is_gone(ledger: Ledger) -> None:
    held, other = ledger.start(), ledger.start("other")
    once = "select emq.once(%s, %s, %s)"
    assert ledger.one(once, "welcome Ann", held.id, held.fence)
    assert ledger.one(once, "welcome Ben", other.id, other.fence)
    ledger.complete(held)
    assert last(ledger).status == "done"
    assert ledger.column("select key from emq.inbox") == ["welcome Ben"]
    assert ledger.one(once, "welcome Ann", other.id, other.fence)


def test_the_name_must_be_said_once_more(ledger: Ledger) -> None:
    ledger.add(1)
    for confirm in ("other", "", None):
        with refused("EQ006", hint="once more"):
            ledger.rows("select emq.obliterate('default', %s)", confirm)
    assert (ledger.one("select count(*) from emq.queue"), counts(ledger)["pending"]) == (0, 1)


def test_the_first_batch_pauses_the_queue_and_takes_nothing(ledger: Ledger) -> None:
    ledger.add(1)
    assert obliterate(ledger).status == "more"
    assert ledger.claim() == []
    assert counts(ledger)["pending"] == 1


def test_while_a_job_runs_nothing_is_taken_nor_paused(ledger: Ledger) -> None:
    one_of_each(ledger)
    held = ledger.claim(2)
    before = counts(ledger)
    batch = obliterate(ledger)
    assert (batch.status, batch.remaining, batch.erased) == ("active", 2, 0)
    assert (counts(ledger), ledger.column("select paused from emq.queue")) == (before, [])
    ledger.complete(*held)
    assert last(ledger).status == "done"


def test_a_job_that_began_to_run_after_the_pause_was_asked_for_stops_it_where_it_is(
    ledger: Ledger, other: Ledger
) -> None:
    """A claim whose snapshot is older than the pause."""
    ledger.add(2)
    held = other.take()
    first = obliterate(ledger)
    assert first.status == "more"
    other.conn.commit()
    batch = obliterate(ledger, after=first.next)
    assert (batch.status, batch.remaining, batch.erased) == ("active", 1, 0)
    assert batch.next == first.next
    ledger.complete(held)
    assert last(ledger, after=batch.next).status == "done"
    assert counts(ledger) == NOTHING


def test_force_ends_the_runs_and_their_holders_can_commit_nothing(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.add(1)
    assert last(ledger, force=True).status == "done"
    assert counts(ledger) == NOTHING
    with refused("EQ001"):
        ledger.guard(held)
    for verb in (ledger.complete, ledger.retry, ledger.extend, ledger.release):
        assert verb(held) == ["lost"]
    assert ledger.outcome(held) == "unknown"


def test_a_job_under_a_guard_is_left_and_the_queue_stays_paused(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    ledger.add(1)
    other.guard(held)
    batch = last(ledger, force=True)
    assert (batch.status, batch.remaining) == ("left", 1)
    assert ledger.column("select paused from emq.queue") == [True]
    other.conn.rollback()
    assert ledger.complete(held) == ["done"]
    assert last(ledger, force=True).status == "done"


def test_a_dead_letter_that_is_being_replayed_is_left(ledger: Ledger, other: Ledger) -> None:
    ledger.add_one(max_attempts=1)
    held = ledger.take()
    ledger.retry(held)
    assert other.operate("replay", held.id) == "done"
    assert (last(ledger).status, ledger.place(held.id)) == ("left", "dead")
    other.conn.commit()
    assert ledger.place(held.id) == "pending"
    assert last(ledger).status == "done"


def test_jobs_that_are_added_meanwhile_are_left_and_whole(ledger: Ledger) -> None:
    ledger.add(3)
    first = obliterate(ledger)
    second = obliterate(ledger, after=first.next)
    assert second.erased == 3
    id, later = ledger.add_one(), ledger.add_one(delay="1 h")
    batch = last(ledger, after=second.next)
    assert (batch.status, batch.remaining) == ("left", 2)
    assert (ledger.place(id), ledger.place(later)) == ("pending", "scheduled")
    assert last(ledger).status == "done"
    assert counts(ledger) == NOTHING


def test_a_job_of_another_queue_keeps_its_place_though_it_was_here_once(ledger: Ledger) -> None:
    """A quarantine has moved it."""
    ledger.rows(
        """select emq.set_queue('default', '{"quarantine": "sick", "quarantine_after": 1}')"""
    )
    id = ledger.start(lease="1 ms").id
    ledger.until(lambda: ledger.reap()[0] == 1, "reaped")
    assert last(ledger).status == "done"
    assert (ledger.place(id), counts(ledger)["attempt"]) == ("pending", 1)
    assert ledger.take("sick").id == id


def test_a_job_that_lives_again_beside_its_old_archive_row_is_no_ended_one(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.complete(held)
    ledger.run("update emq.archive set finished_at = finished_at - interval '2 h'")
    ledger.run("delete from emq.job")
    assert ledger.status(held.id) == "enqueued"
    ids = ledger.one("select emq.unseat(array[%s]::uuid[], true)", held.id)
    assert (ids or [], ledger.place(held.id)) == ([], "pending")


def test_a_dry_run_counts_and_changes_nothing(ledger: Ledger) -> None:
    one_of_each(ledger)
    one_of_each(ledger, "other")
    before = counts(ledger)
    ledger.rows("select emq.pause('other')")
    found = list(batches(ledger, limit=3, dry_run=True))
    assert sum(batch.erased for batch in found) == before["job"] / 2
    assert found[-1].status == "done"
    assert counts(ledger) == before
    assert ledger.column("select verb from emq.audit where queue = 'default'") == ["cancel"]
    assert len(ledger.claim(9)) == 3


def test_while_retention_is_at_work_nothing_is_taken(ledger: Ledger, other: Ledger) -> None:
    """Both take rows of the archive, and both count them."""
    ledger.add(1)
    first = obliterate(ledger)
    other.rows("select * from emq.tidy(10)")
    batch = obliterate(ledger, after=first.next)
    assert (batch.status, batch.erased, batch.next) == ("busy", 0, first.next)
    other.conn.commit()
    assert last(ledger, after=batch.next).status == "done"


def test_each_batch_is_audited_and_the_audit_stays(ledger: Ledger) -> None:
    ledger.add(3)
    last(ledger, label="clean")
    rows = ledger.rows("select verb, queue, label, detail from emq.audit")
    assert rows == [
        ("pause", "default", "clean", None),
        ("obliterate", "default", "clean", {"erased": 3, "force": False, "status": "more"}),
        ("obliterate", "default", "clean", {"erased": 0, "force": False, "status": "done"}),
    ]


def test_a_day_that_is_being_retired_starts_over_and_loses_no_envelope_of_others(
    ledger: Ledger,
) -> None:
    day = ledger.one("select ((now() at time zone 'utc') - interval '3 days')::date")
    ledger.rows("select emq.archive_days(0, %s)", day)
    ended: list[Held] = []
    for queue in ("default", "other", "default", "other"):
        ended.append(ledger.start(queue))
        ledger.complete(ended[-1])
    ledger.run("update emq.archive set finished_at = finished_at - interval '3 days'")
    ledger.run("update emq.job set enqueued_at = enqueued_at - interval '3 days'")
    assert ledger.retire(day, 1) == ("more", 3)
    assert last(ledger).status == "done"
    status = [ledger.retire(day, 1)[0] for _ in range(8)]
    assert "dropped" in status and status.index("dropped") >= 2
    assert counts(ledger) == NOTHING
