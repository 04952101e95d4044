"""`emq maintain`: upkeep without any worker, application or handler, until it is told to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, HOLDER, PATIENCE, ROOT
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

pytestmark = pytest.mark.faults

UPKEEP = """from pg_stat_activity
 where datname = current_database() and application_name like 'emq upkeep maintain %%'
"""


class Process:
    """One `emq maintain`; its log is in a file."""

    def __init__(self, dsn: str, log: Path, *options: str) -> None:
        self.log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [*COMMAND, "maintain", *options], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, env=os.environ | {"EMQ_DSN": dsn}, start_new_session=True,
            )  # fmt: skip

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def until(self, true: Callable[[], object], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < end, f"{what}\n{self.said()}"
            time.sleep(0.02)


@pytest.fixture
def ledger(db: Database) -> Ledger:
    return Ledger(db.connect())


@pytest.fixture
def maintain(db: Database, tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Starts such processes; none outlives the test."""
    started: list[Process] = []

    def start(*options: str) -> Process:
        made = Process(db.dsn, tmp_path / f"maintain{len(started)}.log", *options)
        started.append(made)
        return made

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait(PATIENCE)


def abandoned(db: Database, ledger: Ledger, n: int = 1) -> list[str]:
    """Jobs whose holder, a process, was killed, and whose leases soon end."""
    ledger.add(n)
    holder = subprocess.Popen(
        [sys.executable, HOLDER, db.dsn, "default", str(n), "0.1"], stdout=subprocess.PIPE,
        text=True, cwd=ROOT,
    )  # fmt: skip
    assert holder.stdout is not None
    with holder.stdout:
        ids: list[str] = json.loads(holder.stdout.readline())
        holder.kill()
    holder.wait(PATIENCE)
    assert len(ids) == n
    return ids


def until_back(process: Process, ledger: Ledger, ids: list[str]) -> None:
    """Until they are in the line, and counted once each."""
    query = "select count(*) from emq.pending where id = any (%s::uuid[]) and stalled = 1"
    process.until(lambda: ledger.one(query, ids) == len(ids), "the jobs are in the line again")
    assert [(one.stalled, one.failures) for one in ledger.claim(len(ids))] == [(1, 0)] * len(ids)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_brings_back_what_a_killed_process_held_and_ends_when_told_to(
    db: Database, ledger: Ledger, maintain: Callable[..., Process], number: signal.Signals
) -> None:
    process = maintain("--every", "0.1")
    until_back(process, ledger, abandoned(db, ledger, 3))
    process.process.send_signal(number)
    assert process.process.wait(PATIENCE) == 0
    assert "leases expired: " in process.said() and "has ended" in process.said()
    assert "Traceback" not in process.said()
    ledger.wait(f"not exists (select {UPKEEP})")


def test_passes_are_as_far_apart_as_was_set(
    ledger: Ledger, maintain: Callable[..., Process]
) -> None:
    seen = [ledger.one("select at from emq.settled")]
    process = maintain("--every", "2")  # less a quarter at most, lest many come in step

    def another() -> bool:
        at = ledger.one("select at from emq.settled")
        return at != seen[-1] and not seen.append(at)  # type: ignore[func-returns-value]

    for _ in range(3):
        process.until(another, "another pass")
    gaps = [later - sooner for sooner, later in pairwise(seen[1:])]
    assert len(gaps) == 2 and min(gaps) >= timedelta(seconds=1.5), gaps


def test_a_pass_that_hangs_is_given_up_at_the_signal_and_leaves_nothing_behind(
    db: Database, ledger: Ledger, maintain: Callable[..., Process]
) -> None:
    with db.connect(autocommit=False) as blocker:
        blocker.execute("lock table emq.scheduled")
        process = maintain()
        ledger.wait(f"exists (select {UPKEEP} and wait_event_type = 'Lock')")
        process.process.send_signal(signal.SIGTERM)
        assert process.process.wait(PATIENCE) == 0
        ledger.wait(f"not exists (select {UPKEEP})")
        blocker.rollback()


def test_a_connection_that_drops_is_replaced(
    db: Database, ledger: Ledger, maintain: Callable[..., Process]
) -> None:
    process = maintain("--every", "0.1")
    until_back(process, ledger, abandoned(db, ledger))
    assert ledger.column(f"select pg_terminate_backend(pid, 5000) {UPKEEP}") == [True]
    until_back(process, ledger, abandoned(db, ledger))
    assert "upkeep waits for the database" in process.said()
    assert "upkeep goes on" in process.said()
    assert process.process.poll() is None


def test_its_health_is_told_like_a_workers(
    db: Database, maintain: Callable[..., Process], tmp_path: Path
) -> None:
    file = tmp_path / "health"
    process = maintain("--health-file", str(file))
    process.until(file.exists, "a health file")
    for question in ([], ["--ready"]):
        asked = [*COMMAND, "health", "--file", str(file), *question]
        done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (done.stdout, done.stderr)
    assert set(json.loads(file.read_text())["loops"]) == {"upkeep", "health-file"}


def test_once_does_all_that_is_due_and_ends(
    db: Database, ledger: Ledger, maintain: Callable[..., Process]
) -> None:
    ids = abandoned(db, ledger, 2)
    ledger.wait("not exists (select from emq.active where lease_deadline >= clock_timestamp())")
    process = maintain("--once")
    assert process.process.wait(PATIENCE) == 0, process.said()
    assert process.said().splitlines() == [
        "promoted 0, recovered 2, dead 0", "tidied in 0 steps",
    ]  # fmt: skip
    until_back(process, ledger, ids)


def test_once_reaps_although_it_cannot_tidy_and_its_exit_code_says_so(
    db: Database, ledger: Ledger, maintain: Callable[..., Process]
) -> None:
    ids = abandoned(db, ledger)
    ledger.wait("not exists (select from emq.active where lease_deadline >= clock_timestamp())")
    ledger.run("alter function emq.tidy_records rename to was_tidy_records")
    process = maintain("--once")
    assert process.process.wait(PATIENCE) == 1
    assert "recovered 1" in process.said() and "could be tidied: records: " in process.said()
    until_back(process, ledger, ids)


def test_a_role_without_the_right_is_refused_with_what_to_grant(
    db: Database, ledger: Ledger, maintain: Callable[..., Process]
) -> None:
    ledger.run(f'create role "{db.name}_nobody" login')
    try:
        process = maintain("--dsn", db.dsn.replace("postgres@", f"{db.name}_nobody@", 1))
        assert process.process.wait(PATIENCE) == 2
        assert "may not execute emq.maintain" in process.said() and "emq_operator" in process.said()
    finally:
        ledger.run(f'drop role "{db.name}_nobody"')
