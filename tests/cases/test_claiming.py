"""Which jobs are claimed, when, and how many; none is ever between two places."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from datetime import timedelta

import psycopg

from emq_sql.job import NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import enqueueing
from tests.faults.forking import Forked, ForkedField

KILL_SECONDS = float(os.environ.get("EMQ_SQL_KILL_SECONDS", "4"))


def test_no_job_is_claimed_before_its_time_by_the_servers_clock(field: ForkedField) -> None:
    """Leases are far shorter than the wait: a job that was taken early would be taken often."""
    lease = timedelta(seconds=0.2)
    for _ in range(3):
        field.start(poll=0.02, lease=0.2)
    at = field.one("select clock_timestamp() + interval '1.5 s'")
    ids = field.enqueue("own", 10, _run_at=at, _lease=lease)
    ids += field.enqueue("own", 10, _delay=timedelta(seconds=1.5), _lease=lease)
    field.until_archived(20)
    early = """select a.id from emq.archive a join emq.job j on j.id = a.id
                where a.claimed_at < least(%s, j.enqueued_at + interval '1.5 s')"""
    assert field.rows(early, at) == []
    assert field.rows("select min(attempts), max(attempts) from emq.archive") == [(1, 1)]
    assert field.rows("select count(*), count(distinct job) from effect") == [(20, 20)]


COUNTED = """
create table held_at_commit (worker text, n bigint);
create function counted() returns trigger language plpgsql security definer as $$
begin
  insert into public.held_at_commit
    select worker, count(*) from emq.active where worker = new.worker group by worker;
  return null;
end $$;
create constraint trigger counted after insert on emq.active deferrable initially deferred
  for each row execute function counted();
"""


def test_a_worker_never_holds_more_jobs_than_it_has_slots(field: ForkedField) -> None:
    """Looked at in each commit that claims; the second worker finds work as well."""
    field.reader.execute(COUNTED.encode())
    field.enqueue("short", 300, seconds=0.01)
    field.start(concurrency=4)
    field.until("select count(*) > 50 from emq.archive")
    field.start(concurrency=4)
    field.until_archived(300)
    assert field.rows("select max(n), count(distinct worker) from held_at_commit") == [(4, 2)]
    assert field.one("select min(n) from (select count(*) n from emq.archive group by worker) w")


PLACES = ("pending", "scheduled", "active", "dead", "archive")
CONSERVED = "select count(*) - " + " - ".join(f"(select count(*) from emq.{p})" for p in PLACES)


def test_workers_killed_at_random_leave_each_job_in_exactly_one_place(field: ForkedField) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    until = time.monotonic() + KILL_SECONDS
    enqueued = [0]

    def produce() -> None:
        with psycopg.connect(field.dsn, autocommit=True) as connection:
            while time.monotonic() < until:
                jobs = [NewJob(rng.choice(TASKS), "{}", new_id()) for _ in range(20)]
                enqueueing.enqueue_many(connection, "emq", "default", jobs, own=True)
                enqueued[0] += len(jobs)
                time.sleep(0.1)

    producer = threading.Thread(target=produce)
    producer.start()
    workers: list[Forked] = [field.start(lease=0.5, poll=0.05) for _ in range(3)]
    kills = 0
    while time.monotonic() < until:
        time.sleep(rng.uniform(0.05, 0.2))
        unlucky = workers.pop(rng.randrange(len(workers)))
        unlucky.send(signal.SIGKILL)
        kills += unlucky.wait() == -signal.SIGKILL
        workers.append(field.start(lease=0.5, poll=0.05))
        assert field.rows("select * from emq.misplaced") == []
        assert field.one(f"{CONSERVED} from emq.job") == 0
    producer.join()
    assert kills >= KILL_SECONDS * 2
    field.until(
        "select not exists (select from emq.pending) and not exists (select from emq.active)"
    )
    assert field.one("select count(*) from emq.job") == enqueued[0]
    assert field.one(f"{CONSERVED} from emq.job") == 0
    # Those that were claimed by three workers that died are dead letters, and not lost.
    assert field.one("select count(*) from emq.dead where reason <> 'stalled' or stalled < 3") == 0
    assert field.one("select count(*) from emq.archive") > enqueued[0] / 2
    once = "select count(*) from effect e join emq.job j on j.id = e.job where j.task = 'own'"
    assert field.one(f"{once} and not exists (select from emq.archive a where a.id = j.id)") == 0
    assert field.one(once) == field.one(once.replace("count(*)", "count(distinct e.job)"))


TASKS = ("own", "plain", "quick")
