"""The wish that a job's own SQL should end too: on record with the cancel, or not at all."""

from __future__ import annotations

from emq_sql.minting import new_id
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

STOPS = "select emq.sql_stops(%s)"


def test_a_wish_is_for_one_job_and_a_cancel_alone_is_none(ledger: Ledger) -> None:
    wished, other = ledger.start(), ledger.start()
    ledger.run("select emq.stop_sql(%s, 'too slow')", wished.id)
    assert ledger.operate("cancel", wished.id) == "done"
    assert ledger.operate("cancel", other.id) == "done"
    assert ledger.one(STOPS, [other.id, wished.id, new_id()]) == [wished.id]
    assert ledger.one(STOPS, [other.id]) == []
    assert ledger.rows("select verb, queue, label from emq.audit where id = %s order by at",
                       wished.id) == [("stop sql", "default", "too slow"),
                                      ("cancel", "default", None)]  # fmt: skip


def age(ledger: Ledger, age: str, *verbs: str) -> None:
    ledger.run(
        "update emq.audit set at = at - %s::interval where verb = any (%s)", age, list(verbs)
    )


def test_a_wish_that_came_to_nothing_ends_no_sql_of_a_later_plain_cancel(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.run("select emq.stop_sql(%s)", held.id)  # the job was busy: nothing was cancelled
    assert ledger.one(STOPS, [held.id]) == [held.id]
    age(ledger, "61 s", "stop sql")
    assert ledger.one(STOPS, [held.id]) == []
    assert ledger.operate("cancel", held.id) == "done"
    assert ledger.one(STOPS, [held.id]) == []


def test_a_wish_with_its_cancel_stands_however_late_its_worker_asks(ledger: Ledger) -> None:
    held, another = ledger.start(), ledger.start()
    ledger.run("select emq.stop_sql(%s)", held.id)
    ledger.run("select emq.stop_sql(%s)", another.id)
    ledger.operate("cancel", held.id)
    age(ledger, "8 h", "stop sql", "cancel")
    assert ledger.one(STOPS, [held.id, another.id]) == [held.id]


def test_a_wish_after_the_cancel_is_not_of_it(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.operate("cancel", held.id)
    ledger.run("select emq.stop_sql(%s)", held.id)
    age(ledger, "30 min", "stop sql")
    age(ledger, "31 min", "cancel")
    assert ledger.one(STOPS, [held.id]) == []


def test_a_wish_that_is_rolled_back_with_its_cancel_is_none(ledger: Ledger, db: Database) -> None:
    held = ledger.start()
    other = Ledger(db.connect(autocommit=False))
    other.run("select emq.stop_sql(%s)", held.id)
    assert ledger.one(STOPS, [held.id]) == []
    other.conn.rollback()
    assert ledger.one(STOPS, [held.id]) == []


def test_nothing_is_recorded_of_a_job_that_nobody_knows(ledger: Ledger) -> None:
    ledger.run("select emq.stop_sql(%s)", new_id())
    assert ledger.one("select count(*) from emq.audit") == 0
