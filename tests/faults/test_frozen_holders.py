"""Workers are frozen past their lease with a write in an open transaction, and woken when another
one holds the job, or has finished it: what is guarded commits nothing, what is not shows that it
would have.

A write is stale when it was committed after a later attempt had been claimed. The first act of
each attempt, after the commit of its claim, is to note which attempts have written: a write of an
earlier one that is there in the end and was not seen then was committed later than that claim.
Nobody is accused in vain. And nobody gets away: between a claim and that look the earlier attempt
stands still, and is woken after it.

EMQ_SQL_FROZEN says how many processes; the suite freezes 20.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from uuid import UUID

import psutil
import pytest

from tests.faults.forking import Forked, ForkedField, Nursery
from tests.faults.frozen_jobs import TABLES
from tests.faults.processes import wait_for
from tests.plugins.databases import Database

PROCESSES = int(os.environ.get("EMQ_SQL_FROZEN", "20"))
AT_ONCE = 20
LEASE = 1.0
LONG = PROCESSES > AT_ONCE  # then there is time for sessions that the server ends after ten seconds
HOLDERS = ("guarded", "together", "holding")
KINDS = ("guarded", "together", "guarded", "together", "unguarded")

STALE = """
select count(*) from written w
 where w.kind = %s
   and exists (select from looked l
                where l.job = w.job and l.attempts > w.attempts and w.attempts <> all (l.saw))
"""
TWICE = """
select count(*) from (select from written where kind = %s group by job having count(*) > 1) t
"""
# Jobs of the kind with a refusal of their first attempt by this verb.
REFUSED = """
select count(distinct r.id) from emq.refusal r
 where r.attempts = 1 and r.task = %s and r.verb = %s and r.id = any (%s)
"""
LEFT = """
select (select count(*) from emq.pending) + (select count(*) from emq.scheduled)
     + (select count(*) from emq.active) + (select count(*) from emq.dead)
"""


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery("tests.faults.frozen_jobs")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def field(db: Database, nursery: Nursery, tmp_path: Path) -> Iterator[ForkedField]:
    made = ForkedField(db.dsn, tmp_path, db.connect())
    made.nursery = nursery
    made.reader.execute(TABLES)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.timeout(60 + 2 * PROCESSES)
def test_holders_that_are_frozen_past_their_lease_commit_nothing_for_it(
    field: ForkedField,
) -> None:
    kinds = list(islice(cycle(KINDS), PROCESSES))
    for begin in range(0, PROCESSES, AT_ONCE):
        freeze_and_wake(field, kinds[begin : begin + AT_ONCE], f"batch.{begin}")
    if LONG:
        kinds += ["holding"] * AT_ONCE
        freeze_and_wake(field, kinds[PROCESSES:], "batch.holding")
    assert_nothing_is_stale(field)
    for kind in HOLDERS:
        assert field.one("select count(*) from written where kind = %s", kind) == kinds.count(kind)
    assert field.one(STALE, "unguarded") == kinds.count("unguarded")
    assert field.one(TWICE, "unguarded") == kinds.count("unguarded")
    completed = "select count(*) from emq.archive where status = 'completed' and attempts > 1"
    assert field.one(completed) == len(kinds)
    assert field.one(LEFT) == 0
    processes = "select count(distinct pid) from looked where attempts = 1"
    assert field.one(processes) == len(kinds)


def freeze_and_wake(field: ForkedField, kinds: list[str], queue: str) -> None:
    """A process for each of these, all frozen at once; another one takes over what they held. Half
    of the jobs it has finished, the others it holds when they wake up, end their runs, and then
    their processes.
    """
    jobs: dict[str, list[UUID]] = {kind: [] for kind in (*KINDS, "holding")}
    finished: list[UUID] = []
    for n, kind in enumerate(kinds):
        added = field.enqueue(kind, queue=queue, held=n % 4 > 1)
        jobs[kind] += added
        finished += added if n % 4 < 2 else []
    settings = {"queues": [queue], "lease": LEASE, "bell": False}
    frozen = [field.start(concurrency=1, **settings) for _ in kinds]
    wait_for(lambda: all(map(stopped, frozen)), "all are frozen", field)
    another = field.start(concurrency=len(kinds), **settings)
    every = [job for some in jobs.values() for job in some]
    archived = "select count(*) = %s from emq.archive where id = any (%s)"
    field.until(archived, len(finished), finished)
    taken = "select count(distinct job) = %s from looked where attempts > 1 and job = any (%s)"
    field.until(taken, len(every), every)
    for worker in frozen:
        worker.send(signal.SIGCONT)
    ended = "select count(*) = %s from looked where attempts = 1 and ended is not null"
    field.until(f"{ended} and job = any (%s)", len(every), every)
    assert_nothing_is_stale(field)
    for kind, verb in (("guarded", "guard"), ("together", "complete")):
        refused = f"select ({REFUSED}) = %s"
        field.until(refused, kind, verb, jobs[kind], len(jobs[kind]))
    field.until(archived, len(every), every)
    for worker in (*frozen, another):
        worker.send(signal.SIGTERM)
    for worker in (*frozen, another):
        assert worker.wait() == 0, worker.said()


def assert_nothing_is_stale(field: ForkedField) -> None:
    """Of all but the control."""
    stale, twice = ({kind: field.one(query, kind) for kind in HOLDERS} for query in (STALE, TWICE))
    assert stale == dict.fromkeys(HOLDERS, 0)
    assert twice == dict.fromkeys(HOLDERS, 0)


def stopped(worker: Forked) -> bool:
    assert worker.poll() is None, worker.said()
    return bool(psutil.Process(worker.pid).status() == psutil.STATUS_STOPPED)
