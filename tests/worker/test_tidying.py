"""Upkeep tidies what is old between its passes, and its passes never wait for that."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

import psycopg
import pytest

from emq_sql.upkeep.maintenance import Maintenance
from tests.plugins.databases import Database
from tests.protocol.calls import PATIENCE, Ledger

EVERY = timedelta(seconds=0.1)
OLD = (
    "insert into emq.audit (at, verb) select now() - interval '2 years', 'x'"
    " from generate_series(1, %s)"
)  # what is two years old cannot be had by waiting
LEFT = "(select count(*) = 0 from emq.audit where verb = 'x')"


@pytest.fixture
def ledger(db: Database) -> Ledger:
    return Ledger(db.connect())


@contextmanager
def upkeep(db: Database) -> Iterator[None]:
    connect = partial(psycopg.connect, db.dsn, autocommit=True)
    made = Maintenance(connect, "emq", EVERY, tidy_every=EVERY)
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        made.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_what_is_old_goes_step_by_step_and_jobs_come_back_meanwhile(
    db: Database, ledger: Ledger
) -> None:
    ledger.run(OLD, 9000)
    held = ledger.abandoned()
    with upkeep(db):
        ledger.wait(LEFT)
        ledger.wait("(select place = 'pending' from emq.place(%s))", held.id)
        ledger.run(OLD, 10)
        ledger.wait(LEFT)


def test_trouble_with_what_is_old_is_said_once_and_disturbs_no_reap(
    db: Database, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "emq_sql.upkeep")
    ledger.run("alter function emq.tidy rename to was_tidy")
    ledger.run(OLD, 10)

    def said() -> list[str]:
        return [record.getMessage() for record in caplog.records if "old" in record.getMessage()]

    with upkeep(db):
        ledger.until(lambda: bool(said()), "it is said")
        for _ in range(3):
            held = ledger.abandoned()
            ledger.wait("(select place = 'pending' from emq.place(%s))", held.id)
            ledger.complete(ledger.take())
        assert len(said()) == 1 and said()[0].startswith("what is old stays for now")
        ledger.run("alter function emq.was_tidy rename to tidy")
        ledger.wait(LEFT)
        ledger.until(lambda: said()[1:] == ["what is old is tidied again"], "it is over")
