"""search: finished jobs by what is said of them, newest first, and never more than a thousand."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from emq_sql.minting import new_id
from tests.protocol.calls import Ledger, refused
from tests.protocol.history import date_back, days_ago, finished


def found(ledger: Ledger, limit: int | None = None, /, **wanted: Any) -> list[UUID]:
    """The ids, in the order of the answer."""
    return ledger.column(
        "select id from emq.search(%s::jsonb, %s)", json.dumps(wanted, default=str), limit
    )


def story(ledger: Ledger) -> dict[str, UUID]:
    """One job of each kind that the tests look for, each in a queue of its own."""
    ids = {}
    ids["plain"] = ledger.add_one("plain", task="mail.send", payload='{"to": {"id": 7}, "n": [1]}')
    ledger.complete(ledger.take("plain", worker="w-plain"))
    ids["retried"] = ledger.add_one("retried", task="report")
    ledger.retry(ledger.take("retried"), error="ValueError: 100%_ wrong")
    ledger.complete(ledger.take("retried", worker="w-retried"))
    ids["cancelled"] = ledger.add_one("cancelled", task="report")
    ledger.operate("cancel", ids["cancelled"])
    ids["discarded"] = ledger.add_one("discarded", task="report", max_attempts=1)
    ledger.retry(ledger.take("discarded"), error="it never worked")
    ledger.operate("discard", ids["discarded"])
    ledger.add_one("waiting", task="mail.send")
    return ids


def test_each_thing_that_can_be_said_chooses_and_together_they_must_all_hold(
    ledger: Ledger,
) -> None:
    ids = story(ledger)
    plain, retried, cancelled, discarded = ids.values()
    assert found(ledger) == [discarded, cancelled, retried, plain]
    assert found(ledger, id=plain) == [plain]
    assert found(ledger, id=[plain, cancelled]) == [cancelled, plain]
    assert found(ledger, task="mail.send") == [plain]
    assert found(ledger, task=["report", "mail.send"], queue="retried") == [retried]
    assert found(ledger, worker=["w-plain", "w-retried"]) == [retried, plain]
    assert found(ledger, status=["cancelled", "discarded"]) == [discarded, cancelled]
    assert found(ledger, error="100%_ wr") == [retried]
    assert found(ledger, error="never worked") == [discarded]
    assert found(ledger, error="100__") == []
    assert found(ledger, payload={"to": {"id": 7}}) == [plain]
    assert found(ledger, payload={"to": {"id": 8}}) == []
    assert found(ledger, payload={"n": [1]}, status="cancelled") == []
    assert found(ledger, id=plain, queue="retried") == []


def test_what_is_found_is_told_with_its_last_error(ledger: Ledger) -> None:
    ids = story(ledger)
    rows = ledger.rows(
        "select id, task, status, worker, attempts, stalled, failures, error,"
        " enqueued_at < claimed_at, claimed_at < finished_at from emq.search()"
    )
    lost = "ValueError: 100%_ wrong"
    assert rows == [
        (ids["discarded"], "report", "discarded", "w1", 1, 0, 1, "it never worked", None, None),
        (ids["cancelled"], "report", "cancelled", None, 0, 0, 0, None, None, None),
        (ids["retried"], "report", "completed", "w-retried", 2, 0, 1, lost, True, True),
        (ids["plain"], "mail.send", "completed", "w-plain", 1, 0, 0, None, True, True),
    ]


def spread(ledger: Ledger) -> tuple[list[date], list[UUID]]:
    """One job a day, with a day that has no partition in the middle; the newest first."""
    days = [days_ago(ledger, n) for n in (2, 5, 9)]
    ledger.run(f"drop table emq.archive_{days[1]:%Y%m%d}")
    ids = [id for day in days for id in finished(ledger, 1, day, "q")]
    assert ledger.one("select count(*) from emq.archive_default") == 1
    return days, ids


def test_the_newest_come_first_whatever_day_they_lie_in(ledger: Ledger) -> None:
    days, ids = spread(ledger)
    assert found(ledger) == ids
    assert found(ledger, 2) == ids[:2]
    at = [f"{day.isoformat()}T05:00:00+00:00" for day in days]
    assert found(ledger, finished_after=at[1]) == ids[:2]
    assert found(ledger, finished_before=at[1]) == ids[2:]
    assert found(ledger, finished_after=at[2], finished_before=at[0]) == ids[1:]
    (old,) = finished(ledger, 1, days[2] - timedelta(900))
    assert found(ledger) == [*ids, old]


def test_a_thousand_rows_is_the_most_whatever_is_asked_for(ledger: Ledger) -> None:
    ledger.add_many([new_id() for _ in range(1002)])
    while held := ledger.claim(400):
        ledger.complete(*held)
    assert len(found(ledger)) == 100
    assert len(found(ledger, 1002)) == 1000
    with refused("EQ006", hint="from 1 to 1000"):
        found(ledger, 0)


def test_a_job_whose_envelope_has_gone_is_found_by_all_but_what_was_in_it(ledger: Ledger) -> None:
    day = days_ago(ledger, 5)
    ids = finished(ledger, 3, day, "q")
    ledger.retire(day, 1)
    assert found(ledger, queue="q") == ids[::-1]
    assert found(ledger, task="t") == ids[:0:-1]
    assert ledger.status(ids[0], "again") == "enqueued"
    assert ledger.one("select task from emq.search(%s)", json.dumps({"id": str(ids[0])})) is None


def test_days_before_a_jobs_id_are_not_read_for_it(ledger: Ledger, other: Ledger) -> None:
    days_ago(ledger, 9)
    finished(ledger, 1, days_ago(ledger, 8), "q")
    ledger.complete(held := ledger.start())
    assert found(other, id=held.id) == [held.id]
    read = other.column(
        "select l.relation::regclass::text from pg_locks l join pg_inherits i"
        " on i.inhrelid = l.relation and i.inhparent = 'emq.archive'::regclass"
        " where l.pid = pg_backend_pid()"
    )
    assert all(name > f"emq.archive_{days_ago(ledger, 2):%Y%m%d}" for name in read), read


REFUSED: list[tuple[object, str]] = [
    ({"job": "x"}, "finished_before"),
    ({"id": "x"}, "ids"),
    ({"status": "dead"}, "completed, cancelled, discarded"),
    ({"finished_after": "2026-01-31"}, "offset"),
    ({"finished_after": "2026-01-31T10:00:00"}, "offset"),
    ({"finished_before": 7}, "offset"),
    ({"payload": "x"}, "object"),
    ({"payload": None}, "object"),
    ({"error": ""}, "text"),
    ({"queue": [None]}, "text"),
    ([], "Names are"),
]


def test_what_cannot_be_said_of_a_finished_job_is_refused_with_what_can(ledger: Ledger) -> None:
    for wanted, hint in REFUSED:
        with refused("EQ006", hint=hint):
            ledger.rows("select * from emq.search(%s::jsonb)", json.dumps(wanted))


def test_an_old_error_of_an_id_that_lives_again_is_not_its_own(ledger: Ledger) -> None:
    """The window of the attempts ends with the row."""
    id = ledger.add_one("q")
    ledger.complete(ledger.take("q"))
    date_back(ledger, [id], days_ago(ledger, 9))
    ledger.retire(days_ago(ledger, 9), 1)
    ledger.add_one("q", id=id)
    ledger.retry(ledger.take("q"), error="of the second life")
    ledger.complete(ledger.take("q"))
    rows = ledger.rows("select status, error from emq.search()")
    assert rows == [("completed", "of the second life")]
