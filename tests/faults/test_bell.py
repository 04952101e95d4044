"""A worker that is rung for comes at once; what nobody rings for costs it one poll."""

from __future__ import annotations

import pytest

from emq_sql import EMQ
from emq_sql.protocol import bell
from tests.faults.processes import Field
from tests.plugins.databases import Database

HOUR = 3600.0  # a worker that must be rung for, or the test takes that long

PARKED = """
select count(*) = %s from pg_locks l join pg_stat_activity a using (pid)
 where l.locktype = 'advisory' and l.classid = 7306 and l.granted
   and a.datname = current_database() and a.application_name like 'emq bell %%'
"""
COMING_BACK = """
select count(*) > 0 from pg_stat_activity
 where datname = current_database() and application_name like 'emq bell %%'
"""
END_BELL = """
select pg_terminate_backend(pid, 5000) from pg_stat_activity
 where datname = current_database() and application_name like 'emq bell %%'
"""


def parked(field: Field, poll: float = HOUR, queues: tuple[str, ...] = ("default",)) -> None:
    """A worker that waits at the bell, and has looked for the last time."""
    field.start(poll=poll, queues=queues)
    field.until(PARKED, len(queues))


def enqueue_until(field: Field, query: str, *, busy: bool) -> int:
    """Add jobs in a tight loop (or none while idle), and the last one when the query is true; ring
    after each.
    """
    added = 0
    while True:
        last = field.one(query)
        if busy or last:
            field.enqueue("c_sleep", seconds=0)
            bell.ring_parked(field.reader, "emq", ["default"])
            added += 1
        if last:
            return added


def test_a_worker_that_polls_once_an_hour_runs_each_job_at_once(field: Field, db: Database) -> None:
    parked(field, queues=("default", "mail"))
    emq = EMQ(db.dsn)
    send = emq.task(name="plain")(lambda: None)
    for n in range(1, 6):
        send.enqueue()
        field.until_archived(n)
    send.using(queue="mail").enqueue_many([{}] * 30)
    field.until_archived(35)
    emq.engine.dispose()
    field.enqueue("follows", left=3)
    emq.ring("default")
    field.until_archived(39)


def test_upkeep_rings_for_what_it_put_into_the_line(field: Field) -> None:
    """Its worker would look again after an hour; a retry is promoted by upkeep."""
    field.enqueue("fails", times=2)
    parked(field)
    field.until_archived(1)
    assert field.one("select failures from emq.archive") == 2


def test_no_job_is_missed_while_the_bell_hangs_up_and_comes_back(field: Field) -> None:
    """A look before the LISTEN, in place of after it, would leave the last one for an hour."""
    parked(field)
    jobs = 0
    for busy in (True, False, False, False, True):
        assert field.rows(END_BELL) == [(True,)]
        jobs += enqueue_until(field, COMING_BACK, busy=busy)
        field.until_archived(jobs)
        field.until(PARKED, 1)


def test_what_nobody_rings_for_is_found_by_the_next_poll(field: Field, db: Database) -> None:
    field.start(poll=1, bell=False)
    worker = field.start(poll=1)
    field.until(PARKED, 1)
    with db.connect(autocommit=False) as producer:
        for _ in range(4):
            producer.execute("select emq.enqueue('default', 'c_sleep', '{\"seconds\": 0}')")
        producer.execute("select pg_sleep(2)")  # open for longer than polls and rings look back
    field.until_archived(4)
    assert "bell heard" in worker.said()
    assert "bell off" in field.workers[0].said()


def test_a_worker_that_is_busy_is_not_rung_for(field: Field) -> None:
    parked(field)
    field.enqueue("hold", 4)
    bell.ring_parked(field.reader, "emq", ["default"])
    field.until_started(4)
    field.until(PARKED, 0)
    assert bell.ring_parked(field.reader, "emq", ["default"]) == []
    field.enqueue("plain")
    field.let_go()
    field.until_archived(5)
    field.until(PARKED, 1)


@pytest.mark.parametrize("what", ["a burst", "without"])
def test_who_needs_no_bell_has_three_connections(field: Field, what: str) -> None:
    field.enqueue("hold")
    worker = field.start(burst=True) if what == "a burst" else field.start(bell=False)
    field.until_started(1)
    assert "at most 3 connections" in worker.said() and "bell off" in worker.said()
    mine = "datname = current_database() and application_name like 'emq %%'"
    field.until(f"select count(*) = 3 from pg_stat_activity where {mine}")
    field.let_go()
    field.until_archived(1)
