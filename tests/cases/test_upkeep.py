"""Upkeep: what it may cost those who work meanwhile, how often it comes, and what it leaves."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.plugins.databases import Database
from tests.protocol import history
from tests.protocol.calls import Ledger

NEVER_A_SECOND = "-c lock_timeout=1s"  # a statement that waits for longer fails with 55P03
BOUNDED = "-c statement_timeout=20s"
ENDED_DAYS = 4
INVALID = "select indexrelid::regclass::text from pg_index where not (indisvalid and indisready)"
GIN = """
select c.oid::regclass::text from pg_class c join pg_am a on a.oid = c.relam
 where a.amname <> 'btree' and c.relnamespace = 'emq'::regnamespace and c.relkind in ('i', 'I')
"""
KEPT = """
select (select count(*) from emq.job), (select count(*) from emq.settled),
       (select count(*) from emq.audit), (select count(*) from emq.attempt)
"""
REAPS_IN_A_ROW = """
select count(*) from (select at - lag(at) over (order by n) as gap from emq.reap_log) reaps
 where gap < interval '4.9 s'
"""


@dataclass(slots=True)
class Traffic:
    """Sessions that enqueue, claim and complete all the time, and what they did."""

    done: int = 0
    errors: list[Exception] = field(default_factory=list)


@contextmanager
def traffic(db: Database) -> Iterator[Traffic]:
    """Each statement of it fails when it waits a second for a lock."""
    told, stop = Traffic(), threading.Event()

    def work(queue: str) -> None:
        try:
            session = Ledger(db.connect(options=NEVER_A_SECOND))
            while not stop.is_set():
                session.add(5, queue)
                held = session.claim(5, queue, nonce=secrets.randbits(40))
                session.extend(*held)
                assert session.complete(*held) == ["done"] * 5
                told.done += 5
        except Exception as error:
            told.errors.append(error)

    threads = [threading.Thread(target=work, args=(queue,)) for queue in ("a", "b")]
    for thread in threads:
        thread.start()
    try:
        yield told
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)


def test_upkeep_beside_traffic_makes_no_statement_wait_a_second_and_leaves_no_index_unfinished(
    db: Database,
) -> None:
    """Days are made, emptied and dropped, also while a user's transaction holds a completion."""
    ledger = Ledger(db.connect(options=BOUNDED))
    for n in range(1, ENDED_DAYS + 1):
        history.finished(ledger, 40, history.days_ago(ledger, 100 + n))
    ended = [history.days_ago(ledger, 100 + n) for n in range(1, ENDED_DAYS + 1)]
    users = Ledger(db.connect(autocommit=False))
    users.add()
    users.complete(users.take())

    def flows(told: Traffic) -> None:
        until = told.done + 50
        ledger.until(lambda: told.done >= until or bool(told.errors), "the traffic flows")

    with traffic(db) as told:
        flows(told)
        waited = [history.tidy(ledger, 20) for _ in range(20)]
        flows(told)
        users.conn.commit()
        history.tidied(ledger, 20)
        ledger.until(lambda: bool(ledger.one("select emq.archive_days(30) >= 0")), "days are made")
        flows(told)
    assert told.errors == []
    assert "busy" in {did for did, _, _ in waited}
    assert not any(history.partition(ledger, day) for day in ended)
    assert ledger.column(INVALID) == []


def test_no_index_of_the_ledger_is_of_a_kind_that_is_dear_to_write(ledger: Ledger) -> None:
    assert ledger.column(GIN) == []


def test_two_hundred_passes_make_no_job_and_keep_no_record_of_each(ledger: Ledger) -> None:
    before = ledger.row(KEPT)
    for _ in range(200):
        assert ledger.maintain()
    assert ledger.row(KEPT) == before
    assert ledger.one("select count(*) from emq.reap_log") > 0
    assert ledger.one(REAPS_IN_A_ROW) == 0
