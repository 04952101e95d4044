"""tidy: nothing that is younger than its retention goes, and nothing of a live job at all."""

from __future__ import annotations

from tests.protocol import exports
from tests.protocol.calls import Ledger, refused
from tests.protocol.history import (
    attempts_back,
    audited,
    date_back,
    days_ago,
    dead,
    envelopes,
    finished,
    kept,
    ledger_keeps,
    minted,
    partition,
    queue_keeps,
    tidied,
    tidy,
)


def test_with_nothing_to_do_it_says_so_and_writes_nothing(ledger: Ledger, other: Ledger) -> None:
    ledger.complete(ledger.start())
    queue_keeps(ledger, "default", retention="1 h")
    tidied(ledger)
    assert tidy(other) == ("nothing", None, None)
    assert other.one("select pg_current_xact_id_if_assigned()") is None
    other.conn.rollback()


def test_a_day_past_the_longest_retention_is_retired_in_steps_dropped_and_audited(
    ledger: Ledger,
) -> None:
    day, young = days_ago(ledger, 32), days_ago(ledger, 29)
    old, new = finished(ledger, 25, day), finished(ledger, 5, young)
    name = f"archive_{day:%Y%m%d}"
    assert tidied(ledger)[:3] == [
        ("retired", name, 15), ("retired", name, 5), ("dropped", name, 0),
    ]  # fmt: skip
    assert not partition(ledger, day)
    assert (kept(ledger, old), envelopes(ledger, old)) == (0, 0)
    assert (kept(ledger, new), envelopes(ledger, new)) == (5, 5)


def test_the_longest_retention_of_all_decides_when_a_day_is_dropped(ledger: Ledger) -> None:
    day = days_ago(ledger, 32)
    ids = {how: finished(ledger, 3, day, "q", how=how) for how in ("completed", "cancelled")}
    queue_keeps(ledger, "q", retention="40 d", cancelled_retention="35 d")
    tidied(ledger)
    assert [kept(ledger, some) for some in ids.values()] == [3, 3]
    queue_keeps(ledger, "q", retention="1 d")
    tidied(ledger)
    assert [kept(ledger, some) for some in ids.values()] == [0, 3]
    queue_keeps(ledger, "q", retention="40 d", cancelled_retention=None)
    tidied(ledger)
    assert partition(ledger, day)
    queue_keeps(ledger, "q", retention=None)
    tidied(ledger)
    assert not partition(ledger, day)


def test_completed_cancelled_and_dead_have_a_retention_each(ledger: Ledger) -> None:
    day = days_ago(ledger, 5)
    completed = finished(ledger, 7, day, "q")
    cancelled = finished(ledger, 7, day, "q", how="cancelled")
    others = finished(ledger, 7, day, "r")
    letters = dead(ledger, 7, day, "q")
    young = finished(ledger, 7, days_ago(ledger, 0), "q", hour=0)
    queue_keeps(ledger, "q", retention="1 h", cancelled_retention="20 d")
    tidied(ledger)
    assert (kept(ledger, completed), envelopes(ledger, completed)) == (0, 0)
    assert (kept(ledger, cancelled), envelopes(ledger, cancelled)) == (7, 7)
    assert (kept(ledger, others), kept(ledger, young)) == (7, 7)
    assert envelopes(ledger, letters) == 7
    assert audited(ledger, "tidy") == [{"day": day.isoformat(), "rows": 7}]

    queue_keeps(ledger, "q", cancelled_retention="2 d")
    tidied(ledger)
    assert (kept(ledger, cancelled), envelopes(ledger, cancelled)) == (0, 0)
    assert (kept(ledger, others), envelopes(ledger, letters)) == (7, 7)

    queue_keeps(ledger, "q", dead_retention="10 d")
    assert tidied(ledger) == []
    queue_keeps(ledger, "q", dead_retention="4 d")
    assert tidied(ledger) == [("discarded", "dead", None)]
    assert [ledger.place(id) for id in letters] == ["discarded"] * 7
    told = ledger.rows(
        "select label, detail from emq.audit where verb = 'discard' and id = any(%s)", letters
    )
    assert told == [("retention", {"reason": "exception", "error": "boom"})] * 7


def test_a_day_is_visited_once_for_all_queues_and_never_again_while_nothing_is_due(
    ledger: Ledger,
) -> None:
    days = [days_ago(ledger, n) for n in (6, 4)]
    ids = [finished(ledger, 12, day, queue) for day in days for queue in ("p", "q")]
    for queue in ("p", "q", "r"):
        queue_keeps(ledger, queue, retention="1 d")
    assert [what for _, what, _ in tidied(ledger)] == [
        f"archive_{day:%Y%m%d}" for day in days for _ in range(3)
    ]
    assert sum(kept(ledger, some) for some in ids) == 0
    assert ledger.one("select count(*) from emq.tidying") == 0
    assert tidied(ledger) == []
    queue_keeps(ledger, "s", retention="5 d")
    again = tidied(ledger)
    assert {what for _, what, _ in again} == {f"archive_{days[0]:%Y%m%d}"}


def test_queues_that_say_nothing_keep_what_the_ledger_says_though_another_keeps_more(
    ledger: Ledger,
) -> None:
    day = days_ago(ledger, 40)
    some, archive, mail = (finished(ledger, 4, day, queue) for queue in ("a", "archive", "mail"))
    queue_keeps(ledger, "archive", retention="1 year")
    queue_keeps(ledger, "mail", lease="9 s")
    tidied(ledger)
    assert [kept(ledger, ids) for ids in (some, archive, mail)] == [0, 4, 0]
    assert partition(ledger, day)


def test_a_retention_that_is_made_longer_in_the_middle_of_a_visit_is_heeded_at_once(
    ledger: Ledger,
) -> None:
    day = days_ago(ledger, 5)
    held, let_go = finished(ledger, 30, day, "q"), finished(ledger, 30, day, "r")
    for queue in ("q", "r"):
        queue_keeps(ledger, queue, retention="1 d")
    assert tidy(ledger)[0] == "deleted"
    left = kept(ledger, held)
    assert left < 30
    queue_keeps(ledger, "q", retention="6 d")
    tidied(ledger)
    assert (kept(ledger, held), kept(ledger, let_go)) == (left, 0)
    queue_keeps(ledger, "q", retention="1 d")
    tidied(ledger)
    assert (kept(ledger, held), envelopes(ledger, held)) == (0, 0)


def test_a_queue_that_says_nothing_any_more_is_done_from_where_it_was_left(
    ledger: Ledger,
) -> None:
    """`*` has been done up to a day that the queue itself kept."""
    queue_keeps(ledger, "longest", retention="1 year")
    ledger_keeps(ledger, retention="2 d")
    queue_keeps(ledger, "q", retention="20 d")
    day = days_ago(ledger, 9)
    ids, others = finished(ledger, 4, day, "q"), finished(ledger, 4, day, "r")
    tidied(ledger)
    assert (kept(ledger, ids), kept(ledger, others)) == (4, 0)
    queue_keeps(ledger, "q", retention=None)
    tidied(ledger)
    assert kept(ledger, ids) == 0


def test_an_id_that_lives_again_keeps_its_envelope_when_its_old_row_goes(ledger: Ledger) -> None:
    day = days_ago(ledger, 5)
    ids = finished(ledger, 3, day, "q")
    ledger.retire(day, 1)  # the envelope of the first is gone, its row is not
    assert ledger.status(ids[0], "q") == "enqueued"
    queue_keeps(ledger, "q", retention="1 d")
    tidied(ledger)
    assert kept(ledger, ids) == 0
    assert envelopes(ledger, ids) == 1
    again = ledger.take("q")
    assert again.id == ids[0]
    assert ledger.complete(again) == ["done"]


def test_a_job_that_waited_longer_than_every_retention_still_completes(ledger: Ledger) -> None:
    day = days_ago(ledger, 100)
    ledger.add_one("slow", delay="1 s")
    (id,) = minted(ledger, 1, day)
    ledger.add_one("slow", id=id)
    ledger.retry(ledger.take("slow"), delay="1 ms", error="once")
    ledger.run("update emq.job set enqueued_at = %s", day)
    attempts_back(ledger, [id], day)
    tidied(ledger)
    assert not partition(ledger, day, "attempt")
    ledger.wait("emq.promote() > 0")
    held = ledger.take("slow")
    assert (held.id, held.attempts, held.failures) == (id, 2, 1)
    assert ledger.complete(held) == ["done"]
    told = ledger.column("select event from emq.story(%s)", id)
    assert told == ["enqueued", "claimed", "failed", "claimed", "completed", "archived"]


def test_a_dead_letter_older_than_every_retention_is_kept_with_its_attempts(
    ledger: Ledger,
) -> None:
    day = days_ago(ledger, 400)
    letters = dead(ledger, 3, day)
    gone = finished(ledger, 3, day)
    ledger.run(
        "insert into emq.attempt (id, fence, ended_at, claimed_at, lease_deadline, extensions,"
        " how, queue, worker) select id, 1, finished_at, finished_at, finished_at, 0, 'failed',"
        " queue, 'w' from emq.archive"
    )
    tidied(ledger)
    assert envelopes(ledger, gone) == 0
    assert not partition(ledger, day, "attempt")
    assert sorted(ledger.column("select id from emq.attempt")) == sorted(letters)
    assert ledger.operate("replay", letters[0]) == "done"
    assert ledger.take().attempts == 2


def test_attempts_that_outlived_their_day_go_when_their_job_has_gone(ledger: Ledger) -> None:
    day = days_ago(ledger, 60)
    (letter, other) = dead(ledger, 2, day)
    tidied(ledger)
    assert ledger.one("select count(*) from emq.attempt_default") == 2
    ledger.operate("discard", letter)
    date_back(ledger, [letter], days_ago(ledger, 50))
    tidied(ledger)
    assert envelopes(ledger, [letter, other]) == 1
    # The default is looked at once a day.
    ledger.run("update emq.tidying set ended_at = ended_at - interval '1 day'")
    assert tidied(ledger) == [("deleted", "attempt_default", None)]
    assert ledger.column("select id from emq.attempt") == [other]


def test_a_day_of_attempts_with_many_that_must_stay_is_left_as_it_is(ledger: Ledger) -> None:
    day = days_ago(ledger, 60)
    letters = dead(ledger, 25, day)
    steps = tidied(ledger, limit=2)
    assert partition(ledger, day, "attempt")
    assert ledger.one("select count(*) from emq.attempt") == 25
    assert ("dropped", f"attempt_{day:%Y%m%d}", 0) not in steps
    ledger.run("update emq.tidying set ended_at = ended_at - interval '1 day'")
    assert ("dropped", f"attempt_{day:%Y%m%d}", 0) in tidied(ledger, limit=3)
    assert ledger.one("select count(*) from emq.attempt_default") == 25
    assert envelopes(ledger, letters) == 25


def test_refusals_late_extensions_and_audit_rows_go_when_they_are_old(ledger: Ledger) -> None:
    for _ in range(15):
        held = ledger.start(lease="1 ms")
        ledger.complete(held.stale)
        ledger.expire(held)
        ledger.extend(held)
        ledger.rows("select emq.pause('q')")
    counts = "select (select count(*) from emq.refusal), (select count(*) from emq.late),"
    counts += " (select count(*) from emq.audit where verb = 'pause')"
    assert ledger.row(counts) == (15, 15, 15)
    assert tidied(ledger) == []
    for table in ("refusal", "late", "audit"):
        ledger.run(f"update emq.{table} set at = at - interval '40 d'")
    steps = [("deleted", "refusal", None)] * 2 + [("deleted", "late", None)] * 2
    assert tidied(ledger) == steps
    assert ledger.row(counts) == (0, 0, 15)
    ledger_keeps(ledger, audit_retention="39 d")
    assert tidied(ledger) == [("deleted", "audit", None)] * 2
    assert ledger.row(counts) == (0, 0, 0)


def test_rows_in_no_day_go_by_the_retention_of_their_queue(ledger: Ledger) -> None:
    day = days_ago(ledger, 5)
    ledger.run(f"drop table emq.archive_{day:%Y%m%d}")
    short, long = finished(ledger, 12, day, "q"), finished(ledger, 12, day, "r")
    assert ledger.one("select count(*) from emq.archive_default") == 24
    queue_keeps(ledger, "q", retention="1 d")
    tidied(ledger)
    assert (kept(ledger, short), envelopes(ledger, short)) == (0, 0)
    assert (kept(ledger, long), envelopes(ledger, long)) == (12, 12)


def test_two_at_once_are_busy(ledger: Ledger, other: Ledger) -> None:
    finished(ledger, 25, days_ago(ledger, 40))
    assert tidy(other)[0] == "retired"
    assert tidy(ledger) == ("busy", None, None)
    other.conn.commit()
    assert tidy(ledger)[0] == "retired"


def test_a_day_with_rows_that_its_export_lacks_stays_and_is_not_counted_each_time(
    ledger: Ledger,
) -> None:
    late, fine = days_ago(ledger, 40), days_ago(ledger, 39)
    known = set(finished(ledger, 3, late) + finished(ledger, 3, fine))
    for day in (late, fine):
        exports.exported(ledger, day)
    finished(ledger, 1, late)
    tidied(ledger)
    assert (partition(ledger, late), partition(ledger, fine)) == (True, False)
    seen = "select ended_at from emq.tidying where what like 'archive%%'"
    looked = ledger.one(seen)
    assert tidied(ledger) == []
    assert ledger.one(seen) == looked
    exports.exported(ledger, late, known=known)
    ledger.run("update emq.tidying set ended_at = ended_at - interval '10 min'")
    assert tidied(ledger)[-1][0] == "dropped"


def test_a_step_that_cannot_have_its_lock_keeps_no_other_kind_waiting(
    ledger: Ledger, other: Ledger
) -> None:
    day = days_ago(ledger, 40)
    finished(ledger, 2, day)
    ledger.run(f"drop table emq.attempt_{day:%Y%m%d}")
    ledger.complete(ledger.start().stale)
    ledger.run("update emq.refusal set at = at - interval '40 d'")
    other.complete(ledger.start("q"))  # an open completion holds a lock of the archive
    assert tidy(ledger) == ("deleted", "refusal", None)
    assert tidy(ledger)[:2] == ("busy", f"archive_{day:%Y%m%d}")
    other.conn.commit()
    assert tidied(ledger)[-1][0] == "dropped"


def test_an_open_retry_makes_the_drop_of_a_day_of_attempts_busy_and_keeps_the_step(
    ledger: Ledger, other: Ledger, third: Ledger
) -> None:
    day = days_ago(ledger, 45)
    name = f"attempt_{day:%Y%m%d}"
    attempts_back(ledger, finished(ledger, 1, days_ago(ledger, 40), how="discarded"), day)
    assert other.retry(ledger.start()) == ["pending"]
    steps = []
    while (step := tidy(ledger))[0] != "busy":
        steps.append(step)
    assert step[1] == name
    assert ("deleted", name, None) in steps
    assert partition(ledger, day, "attempt")
    assert (
        ledger.one("select count(*) from emq.attempt where ended_at < now() - interval '1 d'") == 0
    )
    assert third.retry(third.start("q")) == ["pending"]
    other.conn.commit()
    assert ("dropped", name, 0) in tidied(ledger)


def test_a_step_that_fails_is_a_warning_and_stops_none_of_the_others(ledger: Ledger) -> None:
    finished(ledger, 2, days_ago(ledger, 40))
    ledger.complete(ledger.start().stale)
    ledger.run("update emq.refusal set at = at - interval '40 d'")
    ledger.run(
        "create function no_drop() returns event_trigger language plpgsql as"
        " $$ begin raise exception 'not here'; end $$;"
        "create event trigger no_drop on sql_drop execute function no_drop()"
    )
    said: list[str] = []
    ledger.conn.add_notice_handler(lambda told: said.append(str(told.message_primary)))
    assert tidy(ledger) == ("deleted", "refusal", None)
    did, what, _ = tidy(ledger)
    assert (did, what) == ("busy", "days: not here")
    assert set(said) == {
        f"emq: retention cannot go on with the {kind}: not here" for kind in ("days", "attempts")
    }
    ledger.run("drop event trigger no_drop")
    assert tidied(ledger)[-1][0] == "dropped"


def test_it_speaks_of_read_committed_only(other: Ledger) -> None:
    other.run("set transaction isolation level repeatable read")
    with refused("25001"):
        tidy(other)


def test_a_publication_of_all_tables_does_not_stop_it(ledger: Ledger) -> None:
    ledger.run("create publication everything for all tables")
    old, day = days_ago(ledger, 60), days_ago(ledger, 5)
    dead(ledger, 1, old)
    finished(ledger, 2, old, how="discarded")
    ids = finished(ledger, 3, day, "q")
    ledger.complete(ledger.start().stale)
    ledger.run("update emq.refusal set at = at - interval '40 d'")
    queue_keeps(ledger, "q", retention="1 d")
    tidied(ledger)
    assert kept(ledger, ids) == 0
    assert ledger.one("select count(*) from emq.refusal") == 0


def test_any_retention_that_may_be_set_can_be_counted_back(ledger: Ledger) -> None:
    ids = finished(ledger, 2, days_ago(ledger, 40))
    for longest, left in (("100000 years", 2), ("1 hour", 0)):
        ledger_keeps(ledger, retention=longest)
        tidied(ledger)
        assert kept(ledger, ids) == left
