"""export_rows: a page of a day, each job with what it was and with what happened to it."""

from __future__ import annotations

import json
from datetime import date

import pytest

from tests.protocol import exports
from tests.protocol.calls import Ledger
from tests.protocol.history import attempts_back, date_back, days_ago, finished


@pytest.fixture
def day(ledger: Ledger) -> date:
    return days_ago(ledger, 10)


def test_a_row_has_its_envelope_its_end_and_the_claims_that_ended_otherwise(
    ledger: Ledger, day: date
) -> None:
    number = "12345678901234567890.000000000000000001"
    id = ledger.add_one("old", task="mail", payload=f'{{"n": {number}}}', priority=1)
    ledger.retry(ledger.take("old"), error="boom")
    held = ledger.take("old")
    ledger.complete(held, results=['{"sent": 1e400}'])
    (plain,) = finished(ledger, 1, day)
    date_back(ledger, [id], day)
    attempts_back(ledger, [id], day, 4)
    first, second = ledger.rows(
        "select id, task, priority, attempts, fence, payload, result, history"
        " from emq.export_rows(%s, null, null, 10) order by id = %s", day, plain,
    )  # fmt: skip
    assert first[:4] == (id, "mail", 1, 2)
    assert first[4] == held.fence
    assert number in first[5]
    assert first[6] == f'{{"sent": 1{"0" * 400}}}'
    (claim,) = json.loads(first[7])
    assert (claim["attempt"], claim["how"], claim["error"]) == (1, "failed", "boom")
    assert (second[0], second[7]) == (plain, None)


def test_an_envelope_of_another_life_of_the_id_is_not_the_rows_own(
    ledger: Ledger, day: date
) -> None:
    id, gone = finished(ledger, 2, day)
    ledger.run("update emq.job set enqueued_at = now(), task = 'again' where id = %s", id)
    ledger.run("delete from emq.job where id = %s", gone)
    rows = ledger.rows("select task, payload from emq.export_rows(%s, null, null, 10)", day)
    assert rows == [(None, None)] * 2
    ledger.run("delete from emq.job")


def test_pages_are_bounded_by_rows_and_by_the_size_of_their_json(ledger: Ledger, day: date) -> None:
    ids = sorted(ledger.add(10, "old", payload=json.dumps({"k": "x" * 1000})))
    ledger.complete(*ledger.claim(10, "old"))
    date_back(ledger, ids, day)
    assert [id for id, _ in exports.page(ledger, day, limit=3)] == ids[:3]
    found = ledger.column("select id from emq.export_rows(%s, null, null, 10, 3500)", day)
    assert found == ids[:4]


def test_rows_of_one_id_are_not_lost_between_pages(ledger: Ledger, day: date) -> None:
    finished(ledger, 1, day)
    ledger.run(
        "insert into emq.archive select a.* from emq.archive a, generate_series(1, 4);"
        "update emq.archive a set finished_at = a.finished_at + n * interval '1 us'"
        "  from (select ctid as c, row_number() over () as n from emq.archive) r where a.ctid = r.c"
    )
    found: list[object] = []
    after = None
    while page := exports.page(ledger, day, after, limit=2):
        found += page
        after = page[-1]
    assert len(set(found)) == len(found) == 5
    ledger.run("delete from emq.job")
