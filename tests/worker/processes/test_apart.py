"""Jobs on their last chance get processes of their own, which are there only when needed."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import psycopg
import pytest

from emq_sql.effects.effects import DatabaseEffects
from emq_sql.protocol.link import Link
from emq_sql.worker.chances import Chances
from emq_sql.worker.executor import Ended, Executor
from emq_sql.worker.handler import Handler
from emq_sql.worker.held import Held
from emq_sql.worker.inprocess import InProcess
from emq_sql.worker.processes.apart import Apart
from emq_sql.worker.processes.pool import Processes
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.sheltered import Sheltered
from emq_sql.worker.worker import Worker
from tests.faults.processes import Field, wait_for
from tests.plugins.databases import Database
from tests.worker.making import entry
from tests.worker.processes.jobs import HANDLERS
from tests.worker.processes.runner import CHILD

REST = 0.3
SOME_POLLS = "select clock_timestamp() > enqueued_at + interval '300 ms' from emq.job where id = %s"
BROKEN = [sys.executable, "-c", "raise SystemExit('broken on purpose')"]


class House:
    """A worker in a thread of this process, whose handlers are known by their pid."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.threads: list[tuple[Worker, threading.Thread]] = []

    def start(self, child: Sequence[str] = CHILD, **given: Any) -> Worker:
        def executor(held: Held, ended: Ended) -> Executor:
            if settings.processes:
                return Processes(child, settings.processes, held, ended, lambda: worker)
            near = InProcess(settings.slots, held, effects, ended)
            apart = Apart(child, 2, held, ended, lambda: worker, near.submit, REST)
            return Sheltered(near, apart, held)

        effects = DatabaseEffects("emq")
        settings = WorkerSettings(queues=("default",), **given)
        worker = Worker(
            lambda: psycopg.connect(self.field.dsn, autocommit=True), "emq", HANDLERS, settings,
            effects, executor,
        )  # fmt: skip
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        self.threads.append((worker, thread))
        return worker

    def until(self, true: Callable[[], Any], what: str) -> None:
        wait_for(true, what, self.field)

    def close(self) -> None:
        for worker, thread in self.threads:
            worker.release_now()
            thread.join(20)
            assert not thread.is_alive()


@pytest.fixture
def house(db: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[House]:
    monkeypatch.setenv("EMQ_DSN", db.dsn)
    made = House(Field(db.dsn, tmp_path, db.connect()))
    made.field.reader.execute("select emq.configure('default', p_max_stalled => 2)")
    try:
        yield made
    finally:
        made.close()


def lost(field: Field, task: str, **given: Any) -> UUID:
    """A job whose first claimer was never heard of again: another loss would be its last."""
    (job,) = all_lost(field, task, 1, **given)
    return job


def all_lost(field: Field, task: str, n: int, **given: Any) -> list[UUID]:
    """So many of them."""
    with field.reader.transaction():  # so that no worker sees them before
        jobs = field.enqueue(task, n, **given)
        claimed = field.rows("select id from emq.claim('default', %s, 'gone', 7, '200 ms')", n)
    assert sorted(claimed) == sorted((job,) for job in jobs)
    over = "select bool_and(lease_deadline < clock_timestamp()) from emq.active where id = any(%s)"
    field.until(over, jobs)
    assert field.rows("select recovered from emq.reap(100)") == [(n,)]
    return jobs


def children() -> list[psutil.Process]:
    found = []
    for one in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # also a zombie, which has no command line
            if CHILD[-1] in one.cmdline():
                found.append(one)
    return found


def pid_of(field: Field, job: UUID) -> int:
    """The process in which it ran."""
    field.until("select exists (select from emq.archive where id = %s)", job)
    pid: int = field.one("select (result #>> '{}')::int from emq.archive where id = %s", job)
    return pid


def begun(field: Field, job: UUID) -> int:
    """The process in which it runs."""
    field.until("select exists (select from started where job = %s)", job)
    pid: int = field.one("select pid from started where job = %s", job)
    return pid


def test_a_process_is_started_for_such_a_job_and_ends_after_a_rest(house: House) -> None:
    field = house.field
    house.start()
    (before,) = field.enqueue("pid")
    assert pid_of(field, before) == os.getpid()
    assert children() == []
    first = pid_of(field, lost(field, "pid"))
    assert first != os.getpid()
    house.until(lambda: children() == [], "the child has ended")
    again = pid_of(field, lost(field, "pid"))
    assert again not in {first, os.getpid()}
    (after,) = field.enqueue("pid")
    assert pid_of(field, after) == os.getpid()


def test_as_long_as_one_is_held_nothing_else_is_begun_in_the_workers_own_process(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emq_sql.worker.alone.ALONE", 0.0)
    field = house.field
    house.start(concurrency=4)
    last = lost(field, "hold", key="last")
    assert begun(field, last) != os.getpid()
    others = field.enqueue("hold", 4, key="others")
    field.until_started(2)
    # Two processes there are, and no more is claimed than they can run.
    assert field.one("select count(*) from emq.active") == 2
    field.let_go("others")
    field.until_archived(4)
    pids = {pid for (pid,) in field.rows("select pid from started where job = any(%s)", others)}
    assert os.getpid() not in pids
    field.let_go("last")
    field.until_archived(5)
    (after,) = field.enqueue("pid")
    assert pid_of(field, after) == os.getpid()


def test_in_the_first_of_its_run_nothing_else_is_claimed(house: House) -> None:
    field = house.field
    house.start(concurrency=4, poll=timedelta(seconds=0.05))
    last = lost(field, "hold", key="last")
    assert begun(field, last) != os.getpid()
    (fresh,) = field.enqueue("pid", _priority=0)
    field.until(SOME_POLLS, fresh)
    assert field.rows("select id from emq.active") == [(last,)]
    field.let_go("last")
    assert pid_of(field, fresh) == os.getpid()


@pytest.mark.parametrize("slots", [{"concurrency": 4}, {"processes": 2}], ids=str)
def test_two_are_never_run_together_and_others_get_through_meanwhile(
    house: House, monkeypatch: pytest.MonkeyPatch, slots: dict[str, Any]
) -> None:
    monkeypatch.setattr("emq_sql.worker.alone.ALONE", 0.0)
    monkeypatch.setattr("emq_sql.worker.alone._FIRST", 0.2)
    field = house.field
    both = all_lost(field, "hold", 2, key="last")
    house.start(**slots)
    field.until_started(1)
    field.until("select exists (select from emq.attempt where how = 'snoozed')")
    (other,) = field.enqueue("pid")
    assert pid_of(field, other) != os.getpid()
    assert field.one("select count(*) from started") == 1
    field.let_go("last")
    promoted = "select count(*) = 3 from emq.archive, (select emq.promote(10) offset 0) p"
    field.until(promoted)
    counts = "select stalled, failures from emq.archive where id = any(%s)"
    assert field.rows(counts, both) == [(1, 0)] * 2


def test_one_that_comes_while_a_handler_runs_here_is_given_back_until_that_has_ended(
    house: House,
) -> None:
    field = house.field
    house.start(poll=timedelta(seconds=0.05))
    (here,) = field.enqueue("hold", key="here")
    assert begun(field, here) == os.getpid()
    last = lost(field, "pid")
    field.until("select exists (select from emq.attempt where id = %s and how = 'released')", last)
    (fresh,) = field.enqueue("pid", _priority=0)
    field.until(SOME_POLLS, fresh)
    assert {job for (job,) in field.rows("select id from emq.pending")} == {last, fresh}
    field.let_go("here")
    assert pid_of(field, last) != os.getpid()
    assert pid_of(field, fresh)
    counts = "select stalled, failures from emq.archive where id = %s"
    assert field.rows(counts, last) == [(1, 0)]
    assert field.rows("select how from emq.attempt where id = %s order by fence", last) == [
        ("stalled",), ("released",),
    ]  # fmt: skip


def test_for_a_handler_that_runs_long_it_is_not_waited_for_ever(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emq_sql.worker.alone.PATIENCE", 0.2)
    field = house.field
    house.start()
    (here,) = field.enqueue("hold", key="here")
    assert begun(field, here) == os.getpid()
    last = lost(field, "pid")
    assert pid_of(field, last) != os.getpid()
    assert field.one("select count(*) from emq.active where id = %s", here) == 1
    field.let_go("here")


def test_where_no_process_can_be_started_it_runs_among_the_others_and_the_log_says_so(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("emq_sql.worker.processes.board.MOST_FAILURES", 2)
    house.start(child=BROKEN)
    last = lost(house.field, "pid")
    assert pid_of(house.field, last) == os.getpid()
    assert "broken on purpose" in caplog.text
    assert f"job {last} (pid, attempt 2) runs among the others" in caplog.text
    assert house.field.one("select count(*) from emq.attempt") == 1


def test_one_that_waits_for_its_process_is_released_at_no_cost_when_the_worker_stops(
    house: House, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EMQ_TEST_GATES", str(tmp_path))
    (tmp_path / "wait").touch()
    worker = house.start()
    last = lost(house.field, "pid")
    house.until(lambda: list(tmp_path.glob("born-*")), "a child is born")
    worker.release_now()
    counts = "select id, stalled, failures from emq.pending"
    house.field.until("select exists (select from emq.pending)")
    assert house.field.rows(counts) == [(last, 1, 0)]
    house.until(lambda: children() == [], "the child has ended")


def test_without_an_answer_all_that_were_lost_twice_are_on_their_last_chance(
    db: Database,
) -> None:
    once, twice, never = (entry(Handler("t", print)) for _ in range(3))
    for one, times in ((once, 1), (twice, 2)):
        one.claimed = replace(one.claimed, stalled=times)
    link = Link(lambda: psycopg.connect(db.dsn, autocommit=True), "chances")
    assert Chances(link, "emq").last([never, once, twice]) == []  # none of them is held
    db.connect().execute("alter function emq.last_chance rename to gone")
    assert Chances(link, "emq").last([never, once, twice]) == [twice]
    link.close()
