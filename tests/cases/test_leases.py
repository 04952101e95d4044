"""Leases that end: by themselves, by the death of their holder, or without anybody's word."""

from __future__ import annotations

import signal
from datetime import timedelta
from pathlib import Path

import pytest

from tests.faults.forking import ForkedField
from tests.faults.processes import wait_for
from tests.plugins.proxy import proxied
from tests.protocol.calls import Ledger, refused

VERBS = {
    "complete": {},
    "retry": {"error": "late"},
    "snooze": {"delay": "1 h"},
    "release": {},
    "extend": {"lease": "1 h"},
    "stall_at_once": {},
}
EVERYWHERE = (
    "select to_jsonb(x) from (select * from emq.active) x",
    "select to_jsonb(x) from (select * from emq.pending) x",
    "select to_jsonb(x) from (select * from emq.attempt) x",
    "select to_jsonb(x) from (select * from emq.archive) x",
)


@pytest.mark.parametrize("since", ["reaped", "claimed again", "completed"])
def test_an_expired_holder_can_do_nothing_for_its_job_and_each_call_is_on_record(
    ledger: Ledger, since: str
) -> None:
    former = ledger.abandoned()
    assert ledger.reap() == (1, 0, 0)
    if since != "reaped":
        newer = ledger.take(worker="w2")
        assert (newer.id, newer.attempts) == (former.id, 2)
    if since == "completed":
        assert ledger.complete(newer) == ["done"]
    before = [ledger.rows(query) for query in EVERYWHERE]
    for verb, named in VERBS.items():
        assert getattr(ledger, verb)(former, **named) == ["lost"], verb
    with refused("EQ001"):
        ledger.guard(former)
    assert [ledger.rows(query) for query in EVERYWHERE] == before
    stale = "select count(*), count(distinct verb) from emq.refusal where id = %s and fence = %s"
    assert ledger.row(stale, former.id, former.fence) == (len(VERBS), len(VERBS))


def test_an_expired_holder_whose_job_nobody_has_taken_back_may_still_complete_it(
    ledger: Ledger,
) -> None:
    held = ledger.abandoned()
    assert ledger.complete(held) == ["done"]
    assert ledger.rows("select id, attempts, stalled from emq.archive") == [(held.id, 1, 0)]


def test_a_killed_workers_jobs_come_back_as_soon_as_their_own_leases_say(
    field: ForkedField,
) -> None:
    """A lease is set for a job, for a queue or for a worker; none waits for another one's end."""
    field.reader.execute("select emq.configure('quick', p_lease => '400 ms')")
    of_queue = field.enqueue("hold", queue="quick")
    of_job = field.enqueue("hold", queue="slow", _lease=timedelta(seconds=0.4))
    usual = field.enqueue("hold", queue="slow")
    first = field.start(queues=["quick", "slow"])
    field.until_started(3)
    of_worker = field.enqueue("hold", queue="third")
    second = field.start(queues=["third"], lease=0.4)
    field.until_started(4)
    for worker in (first, second):
        worker.send(signal.SIGKILL)
        worker.wait()
    other = field.start(queues=["quick", "slow", "third"])
    field.until("select count(*) = 3 from started where pid = %s", other.pid)
    again = "select job from started where pid = %s"
    assert {job for (job,) in field.rows(again, other.pid)} == {*of_queue, *of_job, *of_worker}
    before_its_end = """select count(*) from emq.active a join emq.attempt t on t.id = a.id
                         where a.claimed_at < t.lease_deadline"""
    assert field.one(before_its_end) == 0
    assert field.rows("select attempts from emq.active where id = any(%s)", usual) == [(1,)]
    field.let_go()
    field.until_archived(3)
    assert field.rows("select distinct attempts, stalled from emq.archive") == [(2, 1)]


def test_a_worker_without_an_answer_tells_its_handler_before_anybody_else_can_have_the_job(
    field: ForkedField, tmp_path: Path
) -> None:
    """Its calls are neither accepted nor refused: nothing comes back at all."""
    file = tmp_path / "witness"
    with proxied(field.dsn) as proxy:
        (job,) = field.enqueue("witness", file=str(file))
        worker = field.start(dsn=proxy.dsn, lease=1)
        wait_for(Path(f"{file}.started.1").exists, "the handler runs", field)
        field.until("select extensions > 0 from emq.active")
        proxy.freeze()
        wait_for(Path(f"{file}.told").exists, "the handler is told", field)
        # Nobody has reaped, since nobody else is there: only its own clock has told the handler.
        assert field.rows("select id, attempts from emq.active") == [(job, 1)]
        assert field.one("select count(*) from emq.attempt") == 0
        field.enqueue("quick", 20)
        other = field.start(lease=1)
        wait_for(Path(f"{file}.started.2").exists, "another one has it", field)
        field.until_archived(21)
        other.send(signal.SIGKILL)
        other.wait()
        proxy.thaw()
        field.enqueue("quick", 20)
        field.until_archived(41)
        assert worker.poll() is None
    assert field.rows("select attempts, stalled from emq.archive where id = %s", job) == [(2, 1)]
