"""An exporter may die anywhere: the next one goes on, and nothing is lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from emq_sql.crashpoints import EXPORT_POINTS
from tests.export import children
from tests.export.days import CAMPAIGN, ROWS, close, filled, in_database, in_files, recorded
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

pytestmark = pytest.mark.faults

KILLS = int(os.environ.get("EMQ_SQL_EXPORT_KILLS", "6"))
SIZES = {"part": 20_000, "page": 5_000, "step": 20_000} if CAMPAIGN else children.SMALL
DAYS = 2
# On a fast machine all is done after so many seconds; each run has its share of them, on average.
SHARE = ROWS / 50_000 / KILLS
EACH_ONCE = {1}


def account(ledger: Ledger, folder: Path, days: dict[date, Counter[str]]) -> None:
    """Each job is in the database or in a recorded file, and of a day that is gone in one file."""
    files = recorded(ledger, folder)
    assert set(files.values()) <= EACH_ONCE
    for day, ids in days.items():
        there = in_database(ledger, day)
        assert set(there.values()) <= EACH_ONCE
        assert set(ids) <= set(there) | set(files)
        if not there:
            assert in_files(folder, day) == ids


def test_kills_at_any_moment_lose_and_double_nothing(
    db: Database, ledger: Ledger, folder: Path
) -> None:
    draw = random.Random()
    days = [filled(ledger, 10 - n, ROWS // DAYS) for n in range(DAYS)]
    close(ledger, *days)
    whole = {day: in_database(ledger, day) for day in days}
    assert sum(map(len, whole.values())) == ROWS
    killed = 0
    for _ in range(KILLS):
        child = children.start(db.dsn, folder, days, sizes=SIZES)
        time.sleep(draw.uniform(0, 2 * SHARE))
        child.kill()
        killed += children.end(child) == -signal.SIGKILL
        account(ledger, folder, whole)
    assert killed >= 1
    assert children.end(children.start(db.dsn, folder, days, sizes=SIZES)) == 0
    account(ledger, folder, whole)
    for day, ids in whole.items():
        assert in_database(ledger, day) == Counter()
        assert in_files(folder, day) == ids
    assert ledger.one("select count(*) from emq.job") == 0
    assert ledger.one("select sum(rows) from emq.exported where dropped_at is not null") == ROWS
    assert [path.name for path in folder.rglob(".*")] == []
    if CAMPAIGN:
        print(f"{ROWS:,} rows, {killed} kills in the middle of it")


def test_a_crash_between_any_two_steps_loses_and_doubles_nothing(
    db: Database, ledger: Ledger, folder: Path
) -> None:
    day = filled(ledger, 10, 3000)
    close(ledger, day)
    whole = {day: in_database(ledger, day)}
    for point in EXPORT_POINTS:
        child = children.start(db.dsn, folder, [day], crash_at=point)
        assert children.end(child) == -signal.SIGKILL, point
        account(ledger, folder, whole)
    assert in_files(folder, day) == whole[day]
    assert in_database(ledger, day) == Counter()
    assert ledger.one("select rows = 3000 and dropped_at is not null from emq.exported")
    assert ledger.one("select count(*) from emq.job") == 0
