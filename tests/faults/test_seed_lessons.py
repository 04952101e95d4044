"""What the in-flight ledger teaches, each lesson with real workers that really die or freeze."""

from __future__ import annotations

import re
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from emq_sql.protocol import claiming, holding
from emq_sql.rules import ids
from tests.faults.processes import Field

HOLDERS = "select worker, count(*) from emq.ledger group by worker order by worker"


def test_the_ledger_says_who_holds_what_at_any_time_without_further_bookkeeping(
    field: Field,
) -> None:
    jobs = field.enqueue("hold", 5)
    workers = [field.start(concurrency=2, lease=20), field.start(concurrency=2, lease=20)]
    field.until_started(4)

    held = dict(field.rows(HOLDERS))
    assert sorted(held.values()) == [2, 2]
    assert sorted(int(name.split(":")[-2]) for name in held) == sorted(w.pid for w in workers)
    row = "select every(seconds_left between 0 and 20 and attempts = 1) from emq.ledger"
    assert field.one(row)
    assert field.one("select count(*) from emq.pending") == 1
    assert {id for (id,) in field.rows("select id from emq.ledger")} < set(jobs)

    workers[0].send(signal.SIGKILL)
    workers[0].wait()
    assert dict(field.rows(HOLDERS)) == held  # nothing removed what the dead worker held

    field.let_go()
    field.until("select count(*) = 3 from emq.archive")
    ((name, left),) = field.rows(HOLDERS)
    assert (int(name.split(":")[-2]), left) == (workers[0].pid, 2)


def test_a_dead_workers_jobs_come_back_at_the_head_and_are_finished_by_another(
    field: Field,
) -> None:
    first = field.start(concurrency=2, lease=0.6)
    jobs = field.enqueue("hold", 2)
    field.until_started(2)
    later = field.enqueue("hold", 2)
    first.send(signal.SIGKILL)
    first.wait()
    reaped = "select count(*) filter (where dead = 0) = 1 and not exists (select from emq.active)"
    field.until(f"{reaped} from emq.reap()")
    second = field.start(concurrency=2, lease=20)
    field.until("select count(*) = 2 from started where pid = %s", second.pid)
    taken_back = field.rows("select job from started where pid = %s", second.pid)
    assert {job for (job,) in taken_back} == set(jobs)
    field.let_go()
    field.until_archived(4)
    counts = dict(field.rows("select id, attempts * 10 + stalled from emq.archive"))
    assert counts == dict.fromkeys(jobs, 21) | dict.fromkeys(later, 10)


def test_completing_before_the_effect_loses_the_job(field: Field) -> None:
    (job,) = field.enqueue("too_early")
    assert field.start(lease=0.6).wait() == -signal.SIGKILL
    assert field.rows("select id, status from emq.archive") == [(job, "completed")]
    assert field.start(lease=0.6, burst=True).wait() == 0
    assert field.one("select count(*) from effect") == 0  # and nothing will ever bring it


def test_an_effect_before_the_completion_happens_again_and_the_job_is_settled_once(
    field: Field,
) -> None:
    (job,) = field.enqueue("dies_after_effect")
    assert field.start(lease=0.6).wait() == -signal.SIGKILL
    assert field.one("select count(*) from effect") == 1
    field.start()
    field.until_archived(1)
    assert field.rows("select id, attempts, stalled from emq.archive") == [(job, 2, 1)]
    assert field.rows("select count(*), count(distinct fence) from effect") == [(2, 2)]


@pytest.mark.parametrize("task", ["own", "own_session"])
def test_effects_in_the_completing_transaction_happen_once_though_the_worker_dies(
    field: Field, task: str
) -> None:
    # Once just before the completion is sent, once after its commit.
    field.enqueue(task, 2)
    died = [
        field.start({"EMQ_SQL_CRASH_AT": point}, lease=0.6, concurrency=1).wait()
        for point in ("before-complete", "after-complete")
    ]
    assert died == [-signal.SIGKILL] * 2
    field.start()
    field.until_archived(2)
    assert field.rows("select count(*), count(distinct job) from effect") == [(2, 2)]


def test_a_frozen_worker_that_comes_back_late_can_commit_nothing_and_is_on_record(
    field: Field,
) -> None:
    (job,) = field.enqueue("hold_then_own")
    frozen = field.start(lease=0.6)
    field.until_started(1)
    frozen.send(signal.SIGSTOP)
    other = field.start()
    field.until("select count(*) = 1 from started where pid = %s", other.pid)
    field.let_go()
    field.until_archived(1)
    other.send(signal.SIGTERM)
    assert other.wait() == 0

    frozen.send(signal.SIGCONT)
    field.until("select count(*) > 0 from effect where what = 'LeaseLost'")
    field.until("select count(*) > 0 from emq.refusal where verb = 'complete'")

    ((fence, attempts),) = field.rows("select fence, attempts from emq.archive")
    assert attempts == 2
    # The handler swallowed the refusal and committed: the server had ended its transaction.
    assert field.rows("select job, fence from effect where what = ''") == [(job, fence)]
    refused = field.rows("select distinct id, fence >> 40 from emq.refusal")
    assert refused == [(job, 1)]
    assert "lease lost" in frozen.said()

    # It has lost a job, not its mind.
    field.enqueue("plain")
    field.until_archived(2)
    frozen.send(signal.SIGTERM)
    assert frozen.wait() == 0


def test_a_frozen_worker_whose_handler_only_returns_late_is_refused(field: Field) -> None:
    (job,) = field.enqueue("deaf")
    frozen = field.start(lease=0.6)
    field.until_started(1)
    frozen.send(signal.SIGSTOP)
    other = field.start()
    field.until_started(2)
    field.let_go()
    field.until_archived(1)
    frozen.send(signal.SIGCONT)
    field.until("select count(*) > 0 from emq.refusal where verb = 'complete'")
    assert field.rows(
        "select id, attempts, worker like %s from emq.archive", f"%:{other.pid}:%"
    ) == [(job, 2, True)]


def test_a_repeated_completion_is_a_no_op(field: Field) -> None:
    field.enqueue("plain")
    (claimed,) = claiming.claim(field.reader, "emq", "default", 1, "me", 7)
    for _ in range(3):
        assert holding.complete(field.reader, "emq", [claimed.lease], ['"first"']) == ["done"]
    assert field.rows("select result, attempts from emq.archive") == [("first", 1)]
    assert field.one("select count(*) from emq.refusal") == 0


faketime = sorted(
    Path(sys.prefix).glob("lib/python*/site-packages/libfaketime/vendor/**/libfaketime.so.1")
)
needs_faketime = pytest.mark.skipif(not faketime, reason="libfaketime is not installed")
DAY = 86_400


def clock_off_by(days: int) -> dict[str, str]:
    return {
        "LD_PRELOAD": str(faketime[0]),
        "FAKETIME": f"{days:+d}d",
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def days_off(said: str) -> int:
    (clock,) = re.findall(r"clock ([\d.]+)", said)
    return round((float(clock) - time.time()) / DAY)


@needs_faketime
def test_workers_whose_clocks_are_a_day_off_change_nothing(field: Field) -> None:
    due = field.enqueue("own", 20, _delay=timedelta(seconds=1))
    far = field.enqueue("own", 5, _delay=timedelta(hours=1))
    long = field.enqueue("c_sleep", 3, seconds=4.5)
    field.enqueue("own", 100)
    workers = [field.start(clock_off_by(days), lease=2, concurrency=3) for days in (1, -1)]
    field.until_archived(123)
    for worker in workers:
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0
    assert [days_off(worker.said()) for worker in workers] == [1, -1]

    # None early: not the jobs that become due, not the ones that are due in an hour.
    early = """select count(*) from effect e join emq.job j on j.id = e.job
                where e.job = any(%s) and e.at < j.enqueued_at + interval '1 s'"""
    assert field.one(early, due) == 0
    assert field.one("select count(*) from emq.scheduled where id = any(%s)", far) == len(far)
    # None twice, and no lease that was kept was taken away.
    assert field.rows("select count(*), count(distinct job) from effect") == [(120, 120)]
    assert field.one("select count(*) from emq.archive where attempts > 1") == 0
    assert field.one("select count(*) from emq.archive where id = any(%s)", long) == len(long)
    assert field.rows("select * from emq.refusal") == [], field.logged()
    assert field.one("select count(*) from emq.reap_log where recovered > 0") == 0


@needs_faketime
def test_a_job_enqueued_by_a_clock_a_day_ahead_is_the_last_one_that_is_taken(
    field: Field,
) -> None:
    field.enqueue("enqueues")
    assert field.start(clock_off_by(1), burst=True).wait() == 0
    child = UUID(field.one("select what from effect where what <> ''"))
    dated = ids.id_time(child)
    assert dated is not None
    assert field.one("select %s > clock_timestamp() + interval '23 hours'", dated)
    # It completes, and its completion is found again, though its id is of tomorrow.
    assert field.one("select place from emq.place(%s)", child) == "completed"

    field.enqueue("enqueues")
    assert field.start(clock_off_by(2), burst=True).wait() == 0
    (refusal,) = field.rows("select what from effect where what like '%%EMQ105%%'")
    assert "clock of the producer" in refusal[0]
    assert field.one("select count(*) from emq.archive") == 3
