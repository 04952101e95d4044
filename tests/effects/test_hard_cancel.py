"""From the operator's commit on nothing more is committed for the job, and its handler is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from emq_sql.cli import cancelling
from tests.effects.cells import WAITING, Cells
from tests.plugins.databases import Database
from tests.plugins.pgbouncer import PgBouncer
from tests.worker.processes.conftest import lives

THREADS = ("--concurrency", "4")
PROCESSES = ("--processes", "2")
modes = pytest.mark.parametrize("mode", [THREADS, PROCESSES], ids=["threads", "processes"])


@pytest.fixture
def cells(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cells]:
    monkeypatch.setattr(cancelling, "_HEARS_WITHIN", 20.0)  # however busy the machine is
    place = Cells(db.dsn, tmp_path, db.connect())
    try:
        yield place
    finally:
        place.close()


@modes
def test_after_a_cancel_nothing_of_its_handler_is_committed_and_it_is_told_by_the_bell(
    cells: Cells, mode: tuple[str, ...]
) -> None:
    """The next extension would come after more than three minutes."""
    job, _ = cells.begun("goes_on", *mode)
    in_coroutine = cells.run("goes_on_async")
    said = cells.cancelled(job, in_coroutine)
    for one, row in zip((job, in_coroutine), said, strict=True):
        assert row["id"] == str(one) and row["answer"] == "done" and row["was"] == "running"
        assert row["told"] is True and row["worker"].count(":") == 2
        cells.until_noted(one, "by_extending%")
        told, hook, hand, completing, extending = cells.what(one)
        assert told == "told: cancelled by an operator"
        assert hook.startswith("by_hook: LeaseLost") and "cancelled by an operator" in hook
        assert "cancelled by an operator" in hand
        assert completing.startswith("by_completing: LeaseLost")
        assert extending.startswith("by_extending: LeaseLost")
        verbs = "select array_agg(distinct verb order by verb) from emq.refusal where id = %s"
        cells.until(f"select ({verbs}) @> '{{complete,extend,guard}}'", one)
        cells.ended_as_cancelled(one)
    cells.until("select count(*) = 0 from emq.misplaced")


@modes
def test_the_statement_of_a_cancelled_job_ends_and_no_other_one(
    cells: Cells, mode: tuple[str, ...]
) -> None:
    cells.hold_lock()
    job, worker = cells.begun("waits_in_sql", *mode)
    other = cells.run("waits_in_sql")
    cells.until(WAITING, 2)
    (row,) = cells.cancelled("--sql", job)
    assert (row["answer"], row["was"], row["told"]) == ("done", "running", True)
    cells.until_noted(job, "QueryCanceled")
    assert cells.what(job) == ["QueryCanceled"]  # and what was written is not there
    assert cells.one(WAITING, 1)
    assert cells.rows("select verb from emq.audit order by at") == [("stop sql",), ("cancel",)]
    assert f"the statement that job {job} (attempt 1) ran is cancelled" in worker.said()
    cells.release_lock()
    cells.until_archived(2)
    assert cells.what(other) == ["written"]
    assert cells.one("select status from emq.archive where id = %s", other) == "completed"
    cells.ended_as_cancelled(job)


def test_a_task_may_always_want_its_statement_cancelled(cells: Cells) -> None:
    cells.hold_lock()
    job, _ = cells.begun("wants_it", *THREADS)
    other = cells.run("waits_in_sql")
    in_coroutine = cells.run("waits_in_sql_async")
    cells.until(WAITING, 3)
    cells.cancel(job)
    cells.until_noted(job, "QueryCanceled")
    # A coroutine's statement ends with its task, whatever was said of SQL.
    cells.cancel(in_coroutine, other)
    cells.until(WAITING, 1)
    assert cells.what(in_coroutine) == []
    assert cells.what(other) == []


def test_a_guarded_transaction_keeps_a_job_and_its_holder_is_named(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancelling, "_PAUSE", 0.01)
    cells.hold_lock()
    job, _ = cells.begun("guards_first", *THREADS)
    cells.until(WAITING, 1)
    worker = cells.one("select worker from emq.active")
    busy = cells.cancel(job, code=1)
    assert f"{job}  busy" in busy.stdout and worker in busy.stdout
    assert "holds it in an open transaction" in busy.stderr and "--sql" in busy.stderr
    assert cells.one(WAITING, 1)
    monkeypatch.setattr(cancelling, "_PAUSE", 0.25)
    cells.cancel("--sql", job)
    assert cells.one("select status from emq.archive") == "cancelled"
    assert cells.one("select count(*) from emq.audit where verb = 'stop sql'") == 1
    assert cells.one("select count(*) = 0 from emq.active")


def test_a_child_that_ignores_it_is_killed_and_its_session_ends_on_the_server(
    cells: Cells,
) -> None:
    job, worker = cells.begun("is_deaf", "--processes", "1", EMQ_TEST_GRACE="0.5")
    sleeping = """
    select count(*) = %s from pg_stat_activity
     where datname = current_database() and query like '%%pg_sleep(600)%%'
       and pid <> pg_backend_pid() and state = 'active'
    """
    cells.until(sleeping, 1)
    pid = cells.one("select pid from started")
    cells.cancel("--sql", job)
    cells.until("select count(*) = 1 from emq.archive")
    cells.enqueue("quick")
    cells.until_archived(2)  # there is one slot
    assert not lives(pid)
    assert psutil.pid_exists(worker.pid)
    cells.until(sleeping, 0)
    cells.ended_as_cancelled(job)


def test_behind_a_pooler_no_statement_is_cancelled_and_the_log_says_so(
    cells: Cells, pgbouncer: PgBouncer
) -> None:
    cells.hold_lock()
    job, worker = cells.begun("waits_in_sql", *THREADS, EMQ_TEST_ENGINE=pgbouncer.dsn)
    cells.until(WAITING, 1)
    cells.cancel("--sql", job)
    said = f"the SQL of job {job} (attempt 1) cannot be cancelled: it leads through a pooler"
    cells.until_said(worker, said)
    assert cells.one(WAITING, 1)
    cells.release_lock()
    # Nothing of it is committed all the same.
    cells.until(WAITING, 0)
    cells.until("select count(*) > 0 from emq.refusal where verb = 'guard'")
    assert cells.what(job) == []
    cells.ended_as_cancelled(job)
