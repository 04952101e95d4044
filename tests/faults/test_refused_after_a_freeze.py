"""A worker that was frozen past its lease leaves on record what it tried when it woke up."""

from __future__ import annotations

import signal
from datetime import timedelta

from tests.faults.processes import Field

ZERO = timedelta(0)
# For each call: its claim, how late it was, how long both ran, and how long the next attempt ran.
REFUSED = """
select r.id, r.verb, r.task, r.attempts, r.worker, r.late, r.overlap,
       a.finished_at - a.claimed_at as ran, r.at - t.lease_deadline as after
  from emq.refusal r
  join emq.attempt t on t.id = r.id and t.fence = r.fence
  join emq.archive a on a.id = r.id and a.attempts = r.attempts + 1
"""


def test_a_frozen_worker_leaves_what_it_was_refused_and_nothing_of_innocent_jobs(
    field: Field,
) -> None:
    (own,) = field.enqueue("hold_then_own")
    (plain,) = field.enqueue("deaf")
    frozen = field.start(lease=0.6, concurrency=4)
    field.until_started(2)
    field.enqueue("plain", 3)
    field.until_archived(3)
    name = field.one("select distinct worker from emq.active")
    frozen.send(signal.SIGSTOP)
    other = field.start()
    field.until("select count(*) = 2 from started where pid = %s", other.pid)
    field.enqueue("plain", 3)
    field.let_go()
    field.until_archived(8)

    field.reader.execute("delete from go")  # its handlers end after its keeper has looked
    frozen.send(signal.SIGCONT)
    query = "select count(distinct id) = 2 from emq.refusal where verb = %s"
    field.until(query, "extend")
    field.let_go()
    field.until(query, "complete")
    for worker in (frozen, other):
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0, worker.said()

    found = field.rows(REFUSED)
    assert len(found) == field.one("select count(*) from emq.refusal")
    calls = sorted((id, verb, task) for id, verb, task, *_ in found)
    assert calls == sorted(
        (id, verb, task)
        for id, task in ((own, "hold_then_own"), (plain, "deaf"))
        for verb in ("complete", "extend")
    )
    for *_, attempts, worker, late, overlap, ran, after in found:
        assert (attempts, worker) == (1, name)
        assert late == after > ZERO
        # The second attempt had ended before the first was woken.
        assert overlap == ran > ZERO
