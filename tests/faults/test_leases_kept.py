"""Leases are kept whatever a handler does: await, block, compute, or hold the interpreter."""

from __future__ import annotations

import signal
from datetime import timedelta
from typing import Any

import pytest

from emq_sql.protocol import upkeep
from tests.faults.processes import Field, wait_for

# Each kind of executor, as settings of a worker.
THREADS: dict[str, Any] = {"concurrency": 2}

EXTENSIONS = """
create table extended (id uuid, deadline timestamptz);
create function note() returns trigger language plpgsql as $$
begin
  insert into public.extended values (new.id, new.lease_deadline);
  return null;
end $$;
create trigger note after insert or update on emq.active for each row execute function note();
"""
LARGEST_GAP = """
select max(gap) from (
  select deadline - lag(deadline) over (partition by id order by deadline) as gap from extended) x
"""


@pytest.mark.parametrize("task", ["awaits", "c_sleep", "spin"])
@pytest.mark.parametrize("executor", [THREADS], ids=["threads"])
def test_a_long_run_keeps_its_lease_and_runs_once(
    field: Field, task: str, executor: dict[str, Any]
) -> None:
    field.enqueue(task, seconds=2.5)
    for _ in range(2):
        field.start(lease=0.6, **executor)
    field.until("select count(*) = 1 from emq.active where extensions >= 4")
    field.until_archived(1)
    assert field.rows("select attempts, stalled, failures from emq.archive") == [(1, 0, 0)]
    assert field.one("select count(*) from emq.refusal") == 0


@pytest.mark.parametrize("executor", [THREADS], ids=["threads"])
def test_a_deadline_is_moved_at_each_third_of_the_lease(
    field: Field, executor: dict[str, Any]
) -> None:
    field.reader.execute(EXTENSIONS)
    field.enqueue("c_sleep", seconds=4.5)
    for _ in range(2):
        field.start(lease=3, **executor)
    field.until_archived(1)
    assert field.one("select attempts from emq.archive") == 1
    assert field.one("select count(*) from extended") >= 5
    assert field.one(LARGEST_GAP) <= timedelta(seconds=1.5)


def test_a_handler_that_holds_the_interpreter_loses_its_lease_and_commits_nothing(
    field: Field,
) -> None:
    """The limit of threads: nothing else of the process runs, the keeper neither."""
    field.enqueue("holds_gil", seconds=3)
    first = field.start(lease=0.6, **THREADS)
    field.until_started(1)
    field.start(lease=0.6, **THREADS)
    field.until_archived(1)
    assert field.rows("select attempts, stalled, failures from emq.archive") == [(2, 1, 0)]
    # The first one comes back, is refused, and goes on with other jobs.
    field.until("select count(*) > 0 from emq.refusal where verb = 'complete'")
    field.enqueue("plain", 20)
    field.until_archived(21)
    assert (
        field.one(
            "select count(*) from effect e join emq.job j on j.id = e.job"
            " where j.task = 'holds_gil'"
        )
        == 1
    )
    assert first.process.poll() is None


@pytest.mark.parametrize("executor", [{"concurrency": 4}], ids=["threads"])
def test_one_lost_lease_of_four_ends_nothing_else(field: Field, executor: dict[str, Any]) -> None:
    (short,) = field.enqueue("hold", _lease=timedelta(seconds=0.5), key="short")
    field.enqueue("hold", 3, _lease=timedelta(minutes=1))
    worker = field.start(**executor)
    field.until_started(4)
    worker.send(signal.SIGSTOP)
    wait_for(lambda: upkeep.maintain(field.reader, "emq").recovered, "the lease is over", field)
    upkeep.pause(field.reader, "emq", "default")  # until it has been told
    worker.send(signal.SIGCONT)
    wait_for(lambda: "lease lost" in worker.said(), "it is told", field)
    upkeep.resume(field.reader, "emq", "default")
    field.enqueue("plain", 10)
    field.let_go("short")
    field.let_go()
    field.until_archived(14)
    assert field.rows("select id, attempts, stalled from emq.archive where attempts > 1") == [
        (short, 2, 1)
    ]
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert worker.said().count(f"job {short} (hold, attempt 1): lease lost") == 1


LATE = """
alter function emq.keep(uuid[], bigint[], text[], interval) rename to keep_at_once;
create function emq.keep(
  p_ids uuid[], p_fences bigint[], p_queues text[], p_lease interval,
  out answers text[], out paused text[]
) language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(99);
  select k.answers, k.paused into answers, paused
    from emq.keep_at_once(p_ids, p_fences, p_queues, p_lease) k;
end $$
"""
HELD_UP = (
    "select count(*) > 0 from pg_locks where locktype = 'advisory' and objid = 99 and not granted"
)


def test_an_extension_that_comes_after_the_jobs_own_completion_is_no_lost_lease(
    field: Field,
) -> None:
    """Something (a pooler, say) passed it on only when the handler's transaction had committed."""
    field.reader.execute(LATE)
    (job,) = field.enqueue("hold_then_own")
    worker = field.start(lease=9, concurrency=1)
    field.until_started(1)
    field.reader.execute("select pg_advisory_lock(99)")
    field.until(HELD_UP)
    field.let_go()
    field.until_archived(1)
    field.reader.execute("select pg_advisory_unlock(99)")
    field.until("select not (" + HELD_UP + ")")
    field.enqueue("plain")
    field.until_archived(2)
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert field.one("select attempts from emq.archive where id = %s", job) == 1
    assert field.one("select count(*) from emq.refusal") == 0
    assert "lease lost" not in worker.said()
