"""The listening end of the bell: what it proves before it relies on it, and what it says."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from emq_sql.errors import EmqError
from emq_sql.protocol import bell as protocol
from emq_sql.protocol.link import Connect, Link
from emq_sql.upkeep.maintenance import Maintenance
from emq_sql.worker import proof
from emq_sql.worker.bell import Bell
from emq_sql.worker.loops import Loop
from emq_sql.worker.pulse import Pulse
from tests.plugins.databases import Database, scratch
from tests.plugins.proxy import proxied
from tests.plugins.running import PgServer

PATIENCE = 20.0
LOGGER = "emq_sql.worker.bell"
LOCKS = """
select count(*) from pg_locks l join pg_database d on d.oid = l.database
 where l.locktype = 'advisory' and l.classid = 7306 and d.datname = current_database()
"""


class Place:
    """A bell in a thread, with upkeep for its errands on a main connection."""

    def __init__(self, db: Database, listen: Connect) -> None:
        self.db = db
        self.reader = db.connect()
        self.rung: list[str | None] = []
        self.locks_at_looks: list[int] = []
        self.failed: list[EmqError] = []
        pulse = Pulse()
        upkeep = Maintenance(to(db.dsn), "emq", timedelta(seconds=0.2))
        self.bell = Bell(
            Link(listen, "emq bell test"), "emq", ("default", "mail"), self.heard, pulse,
            upkeep.errand,
        )  # fmt: skip
        self.bell.park(frozenset(["default"]))
        self.loops = [
            Loop("bell", self.bell, pulse, self.failed.append),
            Loop("upkeep", upkeep, pulse, self.failed.append),
        ]

    def heard(self, queue: str | None) -> None:
        if queue is None:
            self.locks_at_looks.append(self.locks())
        self.rung.append(queue)

    def locks(self) -> int:
        row = self.reader.execute(LOCKS).fetchone()
        assert row is not None
        return int(row[0])

    def ring(self, queue: str) -> list[str]:
        return protocol.ring_parked(self.reader, "emq", [queue])

    def until(self, true: Callable[[], Any]) -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < end, (self.rung, self.bell.heard)
            time.sleep(0.01)

    def looks(self) -> int:
        return self.rung.count(None)


def to(dsn: str, **more: Any) -> Connect:
    return lambda: psycopg.connect(dsn, autocommit=True, **more)


@contextmanager
def placed(db: Database, listen: Connect) -> Iterator[Place]:
    """A bell on these connections; it ends with the block."""
    place = Place(db, listen)
    for loop in place.loops:
        loop.start()
    try:
        yield place
    finally:
        for loop in place.loops:
            loop.stop(PATIENCE)
    assert place.failed == []
    assert "emq-bell" not in {thread.name for thread in threading.enumerate()}


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def test_it_looks_once_it_is_parked_and_tells_of_the_queues_it_serves(db: Database) -> None:
    with placed(db, to(db.dsn)) as place:
        assert place.bell.settled(PATIENCE)
        place.until(lambda: place.rung == [None])
        assert place.locks_at_looks == [1]
        assert place.ring("default") == ["default"]
        place.until(lambda: place.rung == [None, "default"])
        place.reader.execute("select emq.ring('other'), emq.ring('?0123'), emq.ring('mail')")
        place.until(lambda: place.rung == [None, "default", "mail"])
        place.bell.park(frozenset(["default", "mail"]))
        place.until(
            lambda: place.rung[3:] == ["mail"]
        )  # a look after parking, in the new one alone
        assert place.locks() == 2
        place.bell.park(frozenset())
        place.until(lambda: place.locks() == 0)
        assert place.ring("default") == []
    assert not place.bell.heard


def test_a_connection_that_falls_silent_is_found_out_and_made_anew(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "EVERY", 0.3)
    monkeypatch.setattr(proof, "WITHIN", 0.5)
    with proxied(db.dsn) as proxy, placed(db, to(proxy.dsn)) as place:
        place.until(lambda: place.looks() == 1)
        proxy.hush()
        place.until(lambda: place.looks() == 2)
        place.ring("default")
        place.until(lambda: place.rung[-1] == "default")
        assert place.bell.heard


def test_a_bell_that_is_heard_all_the_time_is_not_made_anew(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "EVERY", 0.05)
    with placed(db, to(db.dsn)) as place:
        place.until(lambda: place.looks() == 1)
        heard = db.connect()
        heard.execute('listen "emq.ring"')
        rings = [n.payload for n in heard.notifies(timeout=PATIENCE, stop_after=10)]
        assert all(ring.startswith("?") for ring in rings)
        assert place.looks() == 1


def test_a_server_that_ends_idle_sessions_is_complained_of_once(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.DEBUG, LOGGER),
        placed(db, to(db.dsn, options="-c idle_session_timeout=400ms")) as place,
    ):
        place.until(lambda: place.looks() == 4)
    told = [record for record in caplog.records if "is made anew: term" in record.getMessage()]
    assert [record.levelno for record in told[:3]] == [logging.WARNING] + 2 * [logging.DEBUG]
    assert "due to idle-session timeout" in told[0].getMessage()
    assert place.locks_at_looks == [1] * len(place.locks_at_looks)


def test_a_bell_in_another_database_is_not_relied_on_and_says_where_it_is(
    db: Database, pg_server: PgServer, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(proof, "WITHIN", 0.3)
    caplog.set_level(logging.INFO, LOGGER)
    with scratch(pg_server) as other, placed(db, to(other.dsn)) as place:
        assert not place.bell.settled(PATIENCE)
        place.until(lambda: warnings(caplog))
        assert place.ring("default") == []
    (warning,) = warnings(caplog)
    assert f'"{other.name}", which has no ledger' in warning
    assert f'Name the database "{db.name}"' in warning


def test_a_bell_in_a_copy_of_the_database_is_told_from_the_original(
    db: Database, pg_server: PgServer, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The copy has the same ledger id; a copy on another server might have the same name too."""
    monkeypatch.setattr(proof, "WITHIN", 0.3)
    caplog.set_level(logging.INFO, LOGGER)
    with scratch(pg_server, db.name) as copy, placed(db, to(copy.dsn)) as place:
        assert not place.bell.settled(PATIENCE)
        place.until(lambda: warnings(caplog))
    (warning,) = warnings(caplog)
    assert f'the database "{copy.name}", which has a copy of the ledger' in warning
    assert f'Name the database "{db.name}" of the same server' in warning


def test_a_ring_that_the_server_refuses_is_not_taken_for_trouble_with_upkeep(
    db: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "AGAIN", 0.1)
    caplog.set_level(logging.INFO)
    body = "language plpgsql as $$ begin raise 'no more rings' using errcode = '54000'; end $$"
    works = "language sql as $$ select pg_notify('emq.ring', p_queue) $$"
    define = "create or replace function emq.ring(p_queue text) returns void "
    db.connect().execute((define + body).encode())
    with placed(db, to(db.dsn)) as place:
        place.until(lambda: warnings(caplog))
        place.reader.execute((define + works).encode())
        place.until(lambda: place.bell.heard)
        place.until(lambda: "the bell can be rung again" in caplog.text)
    (warning,) = [said for said in warnings(caplog) if "No more rings" in said]
    assert "the bell cannot be rung" in warning
    assert "upkeep waits" not in caplog.text
    assert "upkeep goes on" not in caplog.text


def test_upkeep_that_is_refused_does_not_go_on_because_a_ring_came_through(
    db: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "EVERY", 0.05)
    caplog.set_level(logging.INFO)
    renames = "alter function emq.{} rename to {}"
    db.connect().execute(renames.format("maintain_due(interval, int)", "gone").encode())
    with placed(db, to(db.dsn)) as place:
        heard = db.connect()
        heard.execute('listen "emq.ring"')
        assert len(list(heard.notifies(timeout=PATIENCE, stop_after=10))) == 10
        assert "upkeep waits for the database" in caplog.text
        assert "upkeep goes on" not in caplog.text
        renamed = renames.format("gone(interval, int)", "maintain_due")
        place.reader.execute(renamed.encode())
        place.until(lambda: "upkeep goes on" in caplog.text)


def test_a_bell_without_a_server_is_complained_of_once_and_heard_when_it_comes(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """A connect that failed is tried afresh, however often it has failed."""
    caplog.set_level(logging.INFO, LOGGER)
    attempts = 0

    def connect() -> psycopg.Connection[Any]:
        nonlocal attempts
        attempts += 1
        return psycopg.connect("host=/nowhere" if attempts < 5 else db.dsn, autocommit=True)

    with placed(db, connect) as place:
        assert not place.bell.settled(PATIENCE)
        place.until(lambda: place.looks() == 1)
    assert attempts == 5
    assert len(warnings(caplog)) == 1
    assert "jobs are found by polling" in warnings(caplog)[0]
    assert "the bell is heard again" in caplog.text
