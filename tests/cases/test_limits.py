"""A queue that runs one at a time, and what a worker that died or hangs leaves of its turn."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

from tests.faults.forking import ForkedField
from tests.faults.processes import ROOT

# Looked at in the commit of each row that joins the line or the ledger.
WATCHED = """
create table seen (fresh bigint, active bigint);
create function seen() returns trigger language plpgsql security definer as $$
begin
  insert into public.seen values (
    (select count(*) from emq.pending where rank % 2 = 1), (select count(*) from emq.active));
  return null;
end $$;
create constraint trigger seen after insert on emq.pending deferrable initially deferred
  for each row execute function seen();
create constraint trigger seen after insert on emq.active deferrable initially deferred
  for each row execute function seen();
"""


def test_a_killed_worker_keeps_no_turn_and_a_hundred_producers_leave_one_waiting(
    field: ForkedField,
) -> None:
    """The job that comes back to the head is the one that had begun: beside it, one waits."""
    field.reader.execute(WATCHED.encode())
    field.reader.execute("""select emq.set_queue('default', '{"max_active": 1}')""")
    payload = json.dumps({"key": "go"})
    produce = [sys.executable, "-m", "tests.cases.producing", field.dsn, "hold", payload]
    subprocess.run([*produce, "1"], cwd=ROOT, check=True)
    first = field.start(lease=1, concurrency=4)
    field.until_started(1)
    first.send(signal.SIGKILL)
    first.wait()
    producers = [subprocess.Popen([*produce, "25"], cwd=ROOT) for _ in range(4)]
    assert [producer.wait(60) for producer in producers] == [0] * 4
    for _ in range(2):
        field.start(lease=1, concurrency=4)
    field.until_started(2)
    assert field.rows("select attempts, stalled from emq.active") == [(2, 1)]
    field.let_go()
    field.until_archived(2)
    assert field.rows("select max(fresh), max(active) from seen") == [(1, 1)]
    turns = "select attempts from emq.archive order by claimed_at"
    assert field.rows(turns) == [(2,), (1,)]
    assert field.rows("select count(*) from emq.job") == [(2,)]


def test_what_a_hanging_worker_holds_is_taken_back_at_once_and_it_can_commit_nothing(
    field: ForkedField,
) -> None:
    (job,) = field.enqueue("own", seconds=0.2)
    hanging = field.start(lease=600)
    field.until("select count(*) = 1 from emq.active")
    hanging.send(signal.SIGSTOP)
    name = field.one("select worker from emq.active")
    field.start()
    field.until("select released = 1 from emq.release_worker(%s, 1000, 'host hangs')", name)
    field.until_archived(1)
    hanging.send(signal.SIGCONT)
    field.until("select count(*) > 0 from emq.refusal where id = %s", job)
    fence = "select fence from emq.archive where attempts = 2 and stalled = 0 and failures = 0"
    assert field.rows("select job, fence from effect") == [(job, field.one(fence))]
