"""What a worker reads at its start does not grow with the history of its ledger."""

from __future__ import annotations

import pytest

from tests.service.conftest import Place

pytestmark = pytest.mark.faults

FINISHED, FORMER = 100_000, 1_000

# The envelopes and archive rows of finished jobs, and workers that died today without a word.
HISTORY = f"""
insert into emq.job (id, priority, queue, task, payload)
select emq.uuid7(), 2, 'default', 'says', '{{}}' from generate_series(1, {FINISHED});
insert into emq.archive (id, fence, finished_at, claimed_at, attempts, stalled, failures, status,
                         queue, worker)
select id, 1::bigint << 40, now(), now(), 1, 0, 0, 'completed', queue, 'former:1:0' from emq.job
 where not exists (select from emq.archive a where a.id = job.id);
insert into emq.worker (name, queues, slots, version)
select 'former:' || g, array['default'], 4, '0' from generate_series(1, {FORMER}) g
"""
# Autovacuum would read what the worker does not.
QUIET = """
select format('alter table %s set (autovacuum_enabled = false)', oid::regclass) from pg_class
 where relnamespace = 'emq'::regnamespace and relkind = 'r'
"""
READ = """
select r.relname, r.seq_tup_read + coalesce(r.idx_tup_fetch, 0),
       b.heap_blks_read + b.heap_blks_hit + coalesce(b.idx_blks_read + b.idx_blks_hit, 0)
  from pg_stat_user_tables r join pg_statio_user_tables b using (relid)
 where r.schemaname = 'emq'
"""
OURS = """
select count(*) = 0 from pg_stat_activity
 where datname = current_database() and application_name like 'emq %'
"""


def test_a_start_reads_as_much_after_a_hundred_thousand_jobs_as_after_none(place: Place) -> None:
    for (statement,) in place.rows(QUIET):
        place.reader.execute(statement)
    fresh = cost_of_a_start(place)
    place.reader.execute(HISTORY.encode())
    old = cost_of_a_start(place)
    assert place.rows("select count(*) from emq.archive") == [(FINISHED + 2,)]
    for table in old:
        rows, blocks = (now - before for now, before in zip(old[table], fresh[table], strict=True))
        if table == "worker":  # upkeep looks, once a pass, who has not been seen for a day
            assert rows <= 20 * FORMER
            continue
        assert rows <= 10, (table, rows)
        assert blocks <= 60, (table, blocks)


def cost_of_a_start(place: Place) -> dict[str, tuple[int, int]]:
    """Rows and blocks that were read in each table, from the start of a worker to its first job's
    end. The server counts them when a session ends.
    """
    before = counted(place)
    place.enqueue("says", text="hello")
    assert place.start("--burst", "--concurrency", "1").wait() == 0
    place.until_true(OURS)
    after = counted(place)
    return {
        table: (rows - before[table][0], blocks - before[table][1])
        for table, (rows, blocks) in after.items()
    }


def counted(place: Place) -> dict[str, tuple[int, int]]:
    place.rows("select pg_stat_force_next_flush(), pg_stat_clear_snapshot()")
    return {table: (rows, blocks) for table, rows, blocks in place.rows(READ)}
