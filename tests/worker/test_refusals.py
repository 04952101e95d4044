"""What a handler is refused in its own transaction comes on record, whatever becomes of that."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from emq_sql.errors import LeaseLost
from emq_sql.job import Lease
from emq_sql.protocol.link import Link
from emq_sql.worker.notes import Note, Notes
from emq_sql.worker.pulse import Pulse
from emq_sql.worker.refusals import BATCH, Refusals
from emq_sql.worker.worker import Worker
from tests.plugins.databases import Database
from tests.plugins.proxy import proxied
from tests.protocol.calls import Held, Ledger
from tests.worker.conftest import PATIENCE, Bench
from tests.worker.making import claimed

ROWS = "select id, verb, attempts, worker, late from emq.refusal where verb <> 'extend'"


def commits(bench: Bench, job: Any) -> None:
    with Session(bench.engine) as session:
        session.execute(text("insert into written values (1)"))
        session.commit()


def guards(bench: Bench, job: Any) -> None:
    with bench.connect() as conn, conn.transaction():
        job.guard(conn)


def completes(bench: Bench, job: Any) -> None:
    with bench.connect() as conn, conn.transaction():
        job.complete(conn)


def transacts(bench: Bench, job: Any) -> None:
    with job.transaction() as session:
        session.execute(text("insert into written values (1)"))


def snoozes(bench: Bench, job: Any) -> None:
    with job.transaction():
        job.snooze(60)


# What swallows the refusal of a commit and returns is refused its completion too, by the worker.
WAYS: list[tuple[Callable[[Bench, Any], None], list[str]]] = [
    (commits, ["complete", "guard"]), (guards, ["complete", "guard"]), (completes, ["complete"]),
    (transacts, ["complete"]), (snoozes, ["snooze"]),
]  # fmt: skip


class Loser:
    """A handler that loses its job before it does something for it in the database."""

    def __init__(
        self, bench: Bench, way: Callable[[Bench, Any], None] = commits, *, lets_out: bool = False
    ) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.caught: list[type[BaseException]] = []
        self.stays = threading.Event()
        self.stays.set()
        bench.reader.execute("create table if not exists written (n int)")

        def loses(job: Any) -> str:
            self.begun.set()
            assert self.go.wait(PATIENCE)
            try:
                way(bench, job)
            except LeaseLost as error:
                self.caught.append(type(error))
                if lets_out:
                    raise
            self.stays.wait(PATIENCE)
            return "went on"

        self._bench = bench
        self.id: UUID
        (self.id,) = bench.enqueue(bench.task(loses, takes_context=True))

    def lose(self, worker: Worker) -> None:
        """Its run is taken for dead, and another worker has it."""
        assert self.begun.wait(PATIENCE)
        stall = "select emq.stall(array[a.id], array[a.fence]) from emq.active a where worker = %s"
        assert self._bench.rows(stall, worker.name) == [(["pending"],)]
        (taken,) = self._bench.rows("select id from emq.claim('default', 1, 'another', 9)")
        assert taken == (self.id,)


def end(bench: Bench) -> None:
    worker, thread = bench.running[-1]
    worker.drain()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert worker.released_all


@pytest.mark.parametrize(("way", "verbs"), WAYS, ids=lambda way: getattr(way, "__name__", None))
def test_each_refusal_is_recorded_once_and_counted(
    bench: Bench, way: Callable[[Bench, Any], None], verbs: list[str]
) -> None:
    loser = Loser(bench, way)
    worker = bench.start(concurrency=1)
    loser.lose(worker)
    loser.go.set()
    bench.until(f"select count(*) = %s from ({ROWS}) r", len(verbs))
    end(bench)
    assert loser.caught == [LeaseLost]
    known = (1, worker.name, None)
    assert sorted(bench.rows(ROWS)) == [(loser.id, verb, *known) for verb in verbs]
    assert bench.rows("select bool_and(overlap > interval '0') from emq.refusal") == [(True,)]
    assert bench.rows("select count(*) from written") == [(0,)]
    refused = dict(worker.pulse.reading().refused)
    assert refused.pop("extend") <= 1  # the keeper may have asked first
    assert {name: n for name, n in refused.items() if n} == dict.fromkeys(verbs, 1)


@pytest.mark.parametrize(
    ("way", "verb"), [(way, verbs[-1]) for way, verbs in WAYS],
    ids=lambda way: getattr(way, "__name__", None),
)  # fmt: skip
def test_a_loss_that_the_handler_lets_out_is_on_record_once(
    bench: Bench, way: Callable[[Bench, Any], None], verb: str
) -> None:
    loser = Loser(bench, way, lets_out=True)
    worker = bench.start(concurrency=1)
    loser.lose(worker)
    loser.go.set()
    bench.until(f"select count(*) > 0 from ({ROWS}) r")
    end(bench)
    assert loser.caught == [LeaseLost]
    assert bench.rows(ROWS) == [(loser.id, verb, 1, worker.name, None)]


def test_who_raises_it_without_a_loss_has_failed(bench: Bench) -> None:
    def wrong() -> None:
        raise LeaseLost("That is no word of the database's.")

    bench.enqueue(bench.task(wrong))
    bench.burst()
    assert bench.rows(ROWS) == []
    query = "select how, error like '%%no word of the database%%' from emq.attempt"
    assert bench.rows(query) == [("failed", True)]


def test_a_handler_that_goes_on_holds_no_record_up(bench: Bench) -> None:
    """Its slot is the only one, and nothing else wakes the worker."""
    loser = Loser(bench)
    loser.stays.clear()
    worker = bench.start(concurrency=1, poll=timedelta(hours=1))
    loser.lose(worker)
    loser.go.set()
    bench.until("select count(*) = 1 from emq.refusal where verb = 'guard'")
    assert worker.hanging == 1
    loser.stays.set()


def test_what_is_met_while_the_worker_drains_is_on_record_when_it_ends(bench: Bench) -> None:
    loser = Loser(bench)
    worker = bench.start()
    loser.lose(worker)
    worker.drain()
    loser.go.set()
    end(bench)
    assert bench.rows("select count(*) from emq.refusal where verb = 'guard'") == [(1,)]


def test_jobs_that_nobody_lost_leave_nothing(bench: Bench) -> None:
    bench.reader.execute("create table written (n int)")

    def writes(job: Any) -> None:
        commits(bench, job)

    def ends_itself(job: Any) -> None:
        transacts(bench, job)

    for function in (writes, ends_itself):
        bench.enqueue(bench.task(function, takes_context=True), n=10)
    bench.start(lease=timedelta(seconds=0.3))
    bench.until("select count(*) = 20 from emq.archive")
    end(bench)
    assert bench.rows("select * from emq.refusal") == []
    assert set(bench.running[-1][0].pulse.reading().refused.values()) == {0}


def test_a_ledger_that_records_none_stops_no_work(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.reader.execute("drop function emq.note_refusals")
    loser = Loser(bench)
    worker = bench.start(concurrency=1)
    loser.lose(worker)
    loser.go.set()
    (other,) = bench.enqueue(bench.task(lambda: None))
    bench.until("select count(*) = 1 from emq.archive where id = %s", other)
    end(bench)
    said = [r.message for r in caplog.records if "cannot be put on record" in r.message]
    assert len(said) == 1 and said[0].startswith("1 refusals")


# Without a worker: notes of claims that are over.


@pytest.fixture
def ledger(db: Database) -> Ledger:
    return Ledger(db.connect())


def lost(ledger: Ledger, n: int = 1) -> list[Lease]:
    ledger.add(n)
    held = ledger.claim(n, lease="1 ms")
    ledger.expire(*held)
    while ledger.reap()[0]:
        pass
    return [lease_of(one) for one in held]


def lease_of(held: Held) -> Lease:
    length = timedelta(milliseconds=held.lease_ms)
    return Lease(held.id, held.fence, held.attempts, held.lease_deadline, length)


def link_to(dsn: str) -> Link:
    return Link(lambda: psycopg.connect(dsn, autocommit=True), "test")


def noted(*leases: Lease, most: int = 10_000) -> Notes:
    notes = Notes(most)
    for lease in leases:
        notes.put(Note(lease, "guard", 0.0))
    return notes


def test_they_wait_for_a_database_that_is_away(db: Database, ledger: Ledger) -> None:
    places = ["host=/nowhere", "host=/nowhere", db.dsn]
    link = Link(lambda: psycopg.connect(places.pop(0), autocommit=True), "test")
    refusals = Refusals(link, "emq", noted(*lost(ledger, 3)), Pulse())
    now, tries = 1000.0, 0
    while len(refusals):
        refusals.send(now)
        refusals.send(now)  # not before its pause is over
        tries += 1
        now = max(now, refusals.next_due()) if len(refusals) else now
    assert tries == 3
    assert ledger.one("select count(*) from emq.refusal") == 3
    assert refusals.next_due() == float("inf")
    link.close()


def test_an_answer_that_was_lost_records_nothing_twice(db: Database, ledger: Ledger) -> None:
    with proxied(db.dsn) as proxy:
        link = link_to(proxy.dsn)
        refusals = Refusals(link, "emq", noted(*lost(ledger, 3)), Pulse())
        proxy.lose_reply_to(b"note_refusals")
        refusals.send(1000.0)
        assert proxy.lost.wait(PATIENCE)
        assert ledger.one("select count(*) from emq.refusal") == 3
        assert len(refusals) == 3
        refusals.send(refusals.next_due())
        assert len(refusals) == 0
        link.close()
    assert ledger.one("select count(*) from emq.refusal") == 3


def test_many_go_in_batches_and_each_once(db: Database, ledger: Ledger) -> None:
    leases = lost(ledger, 2 * BATCH + 1)
    link, pulse = link_to(db.dsn), Pulse()
    Refusals(link, "emq", noted(*leases), pulse).send(0.0)
    link.close()
    assert ledger.row("select count(*), count(distinct id) from emq.refusal") == (
        len(leases), len(leases)
    )  # fmt: skip
    assert pulse.reading().refused == {"guard": len(leases), "complete": 0, "extend": 0}


def test_what_nobody_can_record_is_bounded_and_said_once(
    db: Database, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    leases = lost(ledger, 8)
    link = link_to(db.dsn)
    refusals = Refusals(link, "emq", noted(*leases, most=5), Pulse())
    refusals.send(0.0)
    refusals.send(0.0)
    link.close()
    kept = ledger.column("select id from emq.refusal")
    assert sorted(kept) == sorted(lease.id for lease in leases[3:])
    assert [r.message for r in caplog.records if r.levelno == logging.ERROR] == [
        "3 older refusals were dropped: they could not be recorded in time"
    ]


def test_what_is_never_recorded_is_said_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    link = link_to("host=/nowhere")
    refusals = Refusals(link, "emq", noted(claimed().lease, claimed().lease), Pulse())
    refusals.send(0.0)
    refusals.give_up()
    (said,) = [r.message for r in caplog.records if r.levelno == logging.ERROR]
    assert said == "2 refusals are not on record: the database could not be asked"


def test_notes_from_many_threads_are_all_kept_and_each_is_heard() -> None:
    notes = Notes()
    heard: list[None] = []
    notes.heard = lambda: heard.append(None)
    leases = [claimed().lease for _ in range(400)]

    def puts(some: list[Lease]) -> None:
        for lease in some:
            notes.put(Note(lease, "guard", 0.0))

    threads = [threading.Thread(target=puts, args=[leases[n::4]]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(heard) == 400
    assert {note.lease.id for note in notes.take(1000)} == {lease.id for lease in leases}
    assert (len(notes), notes.take_dropped()) == (0, 0)
