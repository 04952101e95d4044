"""retire beside an export: nothing of an exported day goes that is not in a verified export."""

from __future__ import annotations

from datetime import date
from uuid import UUID

import pytest

from emq_sql.errors import JobsWouldBeLost
from emq_sql.protocol import steps
from tests.plugins.databases import Database
from tests.protocol import exports
from tests.protocol.calls import Ledger, refused
from tests.protocol.exports import exported, partition, record, retired
from tests.protocol.history import (
    audited,
    date_back,
    days_ago,
    envelopes,
    finished,
    ledger_keeps,
    queue_keeps,
    tidied,
    tidy,
)


@pytest.fixture
def day(ledger: Ledger) -> date:
    return days_ago(ledger, 10)


def come_late(ledger: Ledger, day: date, n: int = 1) -> list[UUID]:
    """Rows for a day that is over, as from a clock that went back; with ids above all others."""
    begun = [ledger.start("late") for _ in range(n)]
    ledger.complete(*begun)
    ids = [held.id for held in begun]
    date_back(ledger, ids, day, 6)
    return ids


def test_a_day_goes_without_an_export_unless_the_ledger_says_export_first(
    ledger: Ledger, day: date
) -> None:
    ids = finished(ledger, 3, day)
    ledger_keeps(ledger, export_first="true")
    assert retired(ledger, day) == ["unexported"]
    assert (envelopes(ledger, ids), partition(ledger, day)) == (3, True)
    ledger_keeps(ledger, export_first="false")
    assert retired(ledger, day) == ["dropped"]


def test_an_exported_day_is_retired_in_steps_and_its_record_says_so(
    ledger: Ledger, day: date
) -> None:
    ids = finished(ledger, 25, day)
    exported(ledger, day)
    assert record(ledger, day, "dropped_at is null and removed = 0 and rows = 25")
    assert retired(ledger, day) == ["more", "more", "dropped"]
    assert (envelopes(ledger, ids), partition(ledger, day)) == (0, False)
    assert record(ledger, day, "dropped_at is not null and removed = rows")
    (told,) = audited(ledger, "retire")
    assert (told["rows"], told["export"], told["version"]) == (25, exports.HERE, 1)


def test_record_audit_and_drop_are_one_transaction(
    ledger: Ledger, other: Ledger, day: date
) -> None:
    finished(ledger, 3, day)
    exported(ledger, day)
    assert other.retire(day)[0] == "dropped"
    other.conn.rollback()
    assert partition(ledger, day)
    assert record(ledger, day, "dropped_at is null")
    assert audited(ledger, "retire") == []
    assert retired(ledger, day) == ["dropped"]


def test_an_export_that_was_begun_keeps_the_day_whoever_wanted_it(
    ledger: Ledger, day: date
) -> None:
    finished(ledger, 5, day)
    begun = exports.begin(ledger, day)
    exports.add(ledger, day, begun, 0, exports.page(ledger, day, limit=2))
    exports.end(ledger, day, begun)
    assert retired(ledger, day) == ["unexported"]
    assert ledger.one("select emq.export_forget(%s, 'given up')", day) == "done"
    assert retired(ledger, day) == ["dropped"]


def test_who_is_at_work_on_a_day_has_it_alone(
    ledger: Ledger, other: Ledger, third: Ledger, day: date
) -> None:
    finished(ledger, 3, day)
    begun = exports.begin(third, day)
    assert exports.begin(ledger, day).status == "busy"
    assert retired(ledger, day) == ["busy"]
    assert ledger.one("select emq.export_forget(%s)", day) == "busy"
    exports.end(third, day, begun)
    other.retire(day)
    assert exports.begin(third, day).status == "busy"
    assert ledger.one("select emq.export_forget(%s)", day) == "busy"
    other.conn.rollback()
    assert exports.begin(third, day).status == "ready"


SILENT = "update emq.export_claim set seen_at = seen_at - interval '5 min'"


def test_an_exporter_that_was_silent_for_long_records_nothing_once_another_has_the_day(
    ledger: Ledger, third: Ledger, day: date
) -> None:
    """Its session lives on: it is frozen, or it is a pooler's."""
    finished(ledger, 3, day)
    stale = exports.begin(third, day)
    rows = exports.page(third, day)
    ledger.run(SILENT)
    begun = exports.begin(ledger, day)
    assert (begun.status, begun.version, begun.part) == ("ready", 1, 0)
    with refused("EQ001"):
        exports.add(third, day, stale, 0, rows)
    with refused("EQ001"):
        exports.done(third, day, stale)
    exports.end(third, day, stale)
    exports.add(ledger, day, begun, 0, rows)
    exports.done(ledger, day, begun)
    with refused("EQ001"):
        third.rows("select emq.export_extend(%s, %s)", day, stale.fence)
    assert record(ledger, day, "rows") == 3


def test_an_exporter_whose_session_has_ended_is_not_waited_for(
    ledger: Ledger, third: Ledger, day: date
) -> None:
    finished(ledger, 3, day)
    exports.begin(third, day)
    ledger.one("select pg_terminate_backend(%s, 5000)", third.conn.info.backend_pid)
    assert exports.begin(ledger, day).status == "ready"


def test_an_exporter_that_says_it_is_at_work_keeps_the_day(
    ledger: Ledger, third: Ledger, day: date
) -> None:
    finished(ledger, 3, day)
    begun = exports.begin(third, day)
    ledger.run(SILENT)
    third.rows("select emq.export_extend(%s, %s)", day, begun.fence)
    assert exports.begin(ledger, day).status == "busy"


def test_a_step_of_retention_takes_the_day_from_a_silent_exporter(
    ledger: Ledger, third: Ledger, day: date
) -> None:
    """What it has read may not count: rows of it have gone since."""
    finished(ledger, 15, day)
    exported(ledger, day)
    stale = exports.begin(third, day, "/elsewhere")
    rows = exports.page(third, day)
    ledger.run(SILENT)
    assert ledger.retire(day)[0] == "more"
    with refused("EQ001"):
        exports.add(third, day, stale, 0, rows, "/elsewhere")


def test_a_version_of_which_parts_were_forgotten_is_not_written_again(
    ledger: Ledger, day: date
) -> None:
    """So that of two manifests of one version the one with more files has those of the other."""
    finished(ledger, 3, day)
    first = exports.begin(ledger, day)
    exports.add(ledger, day, first, 0, exports.page(ledger, day))
    exports.end(ledger, day, first)
    assert exports.begin(ledger, day, "/elsewhere").version == 2


def test_a_look_at_former_files_says_nothing_of_the_present_ones(ledger: Ledger, day: date) -> None:
    finished(ledger, 3, day)
    exported(ledger, day)
    verified = "select emq.export_verified(%s, %s, %s, %s)"
    ledger.one(verified, day, 1, exports.HERE, "damaged")
    exported(ledger, day)
    assert not ledger.one(verified, day, 1, exports.HERE, "damaged")
    assert record(ledger, day, "version = 2 and verified_at is not null")


def test_a_downgrade_that_would_lose_the_record_of_what_is_in_files_alone_is_refused(
    db: Database, ledger: Ledger, day: date
) -> None:
    finished(ledger, 3, day)
    exported(ledger, day)
    with db.connect() as conn:
        assert steps.downgrade(conn, to=3) == list(range(steps.newest(), 3, -1))
        steps.upgrade(conn)
        exported(ledger, day)
        assert retired(ledger, day) == ["dropped"]
        with pytest.raises(JobsWouldBeLost, match="1 exported days"):
            steps.downgrade(conn, to=3)
        assert record(ledger, day, "rows") == 3
        assert steps.downgrade(conn, to=3, discard_jobs=True) == list(range(steps.newest(), 3, -1))
        steps.upgrade(conn)


def test_files_found_damaged_keep_the_day(ledger: Ledger, day: date) -> None:
    ids = finished(ledger, 25, day)
    exported(ledger, day)
    assert ledger.retire(day)[0] == "more"
    ledger.one("select emq.export_verified(%s, 1, %s, 'part-0 has changed')", day, exports.HERE)
    assert retired(ledger, day) == ["unexported"]
    assert envelopes(ledger, ids) == 15
    assert exports.begin(ledger, day).status == "damaged"
    ledger.one("select emq.export_verified(%s, 1, %s, null)", day, exports.HERE)
    assert retired(ledger, day)[-1] == "dropped"
    assert [told["damage"] for told in audited(ledger, "verify")] == ["part-0 has changed", None]


def test_a_row_that_comes_after_the_export_keeps_the_day(ledger: Ledger, day: date) -> None:
    ids = finished(ledger, 5, day)
    exported(ledger, day)
    late = come_late(ledger, day)
    assert retired(ledger, day) == ["late"]
    assert envelopes(ledger, [*ids, *late]) == 6
    begun = exported(ledger, day, known=set(ids))
    assert (begun.version, begun.late, begun.part) == (2, True, 1)
    assert record(ledger, day, "rows = 6 and parts = 2 and version = 2")
    assert ledger.column("select part from emq.export_part order by part") == [0, 1]
    assert retired(ledger, day) == ["dropped"]


def test_a_row_that_comes_between_two_steps_does_not_lose_its_envelope(
    ledger: Ledger, day: date
) -> None:
    """Its id is above the others', so the next step would visit it."""
    ids = finished(ledger, 15, day)
    exported(ledger, day)
    assert ledger.retire(day)[0] == "more"
    late = come_late(ledger, day)
    assert retired(ledger, day) == ["late"]
    assert envelopes(ledger, late) == 1
    assert envelopes(ledger, ids) == 5
    exported(ledger, day, known=set(ids))
    assert retired(ledger, day)[-1] == "dropped"
    assert envelopes(ledger, [*ids, *late]) == 0


def test_a_late_writer_that_has_not_ended_waits_for_the_step_or_makes_it_wait(
    ledger: Ledger, other: Ledger, day: date
) -> None:
    finished(ledger, 15, day)
    exported(ledger, day)
    assert ledger.retire(day)[0] == "more"
    (late,) = come_late(ledger, days_ago(ledger, 8))
    ledger.run("update emq.job set enqueued_at = %s where id = %s", day, late)
    other.run("update emq.archive set finished_at = %s where id = %s", day, late)
    assert retired(ledger, day) == ["busy"]
    other.conn.commit()
    assert retired(ledger, day) == ["late"]
    assert envelopes(ledger, [late]) == 1


def test_a_late_writer_waits_while_a_step_deletes(
    ledger: Ledger, other: Ledger, third: Ledger, day: date
) -> None:
    finished(ledger, 15, day)
    exported(ledger, day)
    assert ledger.retire(day)[0] == "more"
    assert other.retire(day, 2)[0] == "more"
    third.run("set lock_timeout to '100 ms'")
    with refused("55P03"):
        come_late(third, day)
    other.conn.commit()
    come_late(third, day)
    assert retired(ledger, day) == ["late"]


def test_a_row_that_came_past_the_trigger_is_counted_before_the_drop(
    ledger: Ledger, day: date
) -> None:
    ids = finished(ledger, 15, day)
    exported(ledger, day)
    assert ledger.retire(day)[0] == "more"
    ledger.run("set session_replication_role to replica")
    late = come_late(ledger, day)
    assert retired(ledger, day) == ["late"]
    assert partition(ledger, day)
    exported(ledger, day, known={*ids})
    assert retired(ledger, day)[-1] == "dropped"
    assert record(ledger, day, "rows") == len(ids) + len(late)


def test_a_day_that_is_half_gone_is_not_exported_to_another_place(
    ledger: Ledger, day: date
) -> None:
    finished(ledger, 15, day)
    exported(ledger, day)
    assert ledger.retire(day)[0] == "more"
    assert exports.begin(ledger, day, "/elsewhere").status == "elsewhere"
    assert ledger.one("select emq.export_forget(%s)", day) == "kept"
    assert exports.begin(ledger, day).status == "done"


def test_a_whole_day_may_be_exported_to_another_place_and_counts_there(
    ledger: Ledger, day: date
) -> None:
    finished(ledger, 3, day)
    exported(ledger, day)
    begun = exported(ledger, day, "/elsewhere")
    assert (begun.version, begun.late, begun.part) == (2, False, 0)
    assert record(ledger, day, "location") == "/elsewhere"
    assert ledger.column("select location from emq.export_part") == ["/elsewhere"]
    assert retired(ledger, day) == ["dropped"]


def test_an_export_goes_on_behind_its_last_part(ledger: Ledger, day: date) -> None:
    ids = finished(ledger, 10, day)
    first = exports.begin(ledger, day)
    assert (first.version, first.part, first.rows, first.after) == (1, 0, 10, None)
    rows = exports.page(ledger, day, limit=4)
    exports.add(ledger, day, first, 0, rows)
    exports.end(ledger, day, first)
    again = exports.begin(ledger, day)
    assert (again.version, again.part, again.written, again.after) == (1, 1, 4, ids[3])
    rest = exports.page(ledger, day, rows[-1])
    assert [id for id, _ in rows + rest] == ids


def test_parts_of_an_export_to_another_place_are_not_gone_on_with(
    ledger: Ledger, day: date
) -> None:
    finished(ledger, 10, day)
    first = exports.begin(ledger, day)
    exports.add(ledger, day, first, 0, exports.page(ledger, day, limit=4))
    exports.end(ledger, day, first)
    other_place = exports.begin(ledger, day, "/elsewhere")
    assert (other_place.part, other_place.written, other_place.after) == (0, 0, None)
    assert ledger.one("select count(*) from emq.export_part") == 0


def test_a_record_is_the_next_version_or_none(ledger: Ledger, day: date) -> None:
    begun = exports.begin(ledger, day)
    exports.done(ledger, day, begun)
    with pytest.raises(Exception, match="cannot be the next"):
        exports.done(ledger, day, begun)


def test_a_dropped_day_that_gets_a_row_is_exported_on(ledger: Ledger, day: date) -> None:
    ids = finished(ledger, 3, day)
    exported(ledger, day)
    assert retired(ledger, day) == ["dropped"]
    days_ago(ledger, 10)
    late = come_late(ledger, day)
    assert retired(ledger, day) == ["late"]
    exported(ledger, day, known=set(ids))
    assert retired(ledger, day) == ["dropped"]
    assert record(ledger, day, "rows") == len(ids) + len(late)


def test_rows_that_shorter_retentions_delete_are_counted_as_removed(
    ledger: Ledger, day: date
) -> None:
    kept = finished(ledger, 4, day, "keep")
    gone = finished(ledger, 3, day, "short")
    queue_keeps(ledger, "short", retention="1 day")
    exported(ledger, day)
    assert tidied(ledger)
    assert envelopes(ledger, gone) == 0
    assert record(ledger, day, "removed") == 3
    assert exports.begin(ledger, day).status == "done"
    assert retired(ledger, day) == ["dropped"]
    assert envelopes(ledger, kept) == 0


def test_shorter_retentions_wait_for_the_export(ledger: Ledger, day: date) -> None:
    ids = finished(ledger, 3, day, "short")
    queue_keeps(ledger, "short", retention="1 day")
    ledger_keeps(ledger, export_first="true")
    tidy(ledger)
    assert envelopes(ledger, ids) == 3


def test_obliterated_rows_are_counted_as_removed(ledger: Ledger, day: date) -> None:
    finished(ledger, 4, day, "keep")
    given_up = finished(ledger, 3, day, "given-up")
    exported(ledger, day)
    ledger.rows("select emq.erase(%s)", given_up)
    assert record(ledger, day, "removed") == 3
    assert retired(ledger, day) == ["dropped"]
