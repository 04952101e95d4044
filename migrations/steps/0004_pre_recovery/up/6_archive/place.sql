-- Promise: where a job is now: pending | scheduled | active | dead | completed | cancelled |
--   discarded, with its counts and who holds or held it; no row when the id is not known.
-- Parameters: p_id.
-- Locks: ACCESS SHARE on what it reads; of the archive, the days from the job's own on (see
--   archived.sql).
-- Index: job_pk, active_pk, dead_pk, archive_id_idx of those days; pending is scanned in the job's own
--   level and scheduled whole, since neither has an index on id that each enqueue would pay for.
create or replace function emq.place(p_id uuid)
returns table (
  id uuid, place text, queue text, task text, priority int, attempts int, stalled int, failures int,
  worker text, enqueued_at timestamptz, since timestamptz, until timestamptz
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute
    'select j.id, w.place, j.queue, j.task, j.priority::int, w.attempts, w.stalled, w.failures,
            w.worker, j.enqueued_at, w.since, w.until
       from emq.job j
       cross join lateral (
         select ''active'' as place, a.attempts, a.stalled::int, a.failures::int, a.worker,
                a.claimed_at as since, a.lease_deadline as until, 1 as precedence
           from emq.active a where a.id = j.id
         union all
         select ''pending'', p.attempts, p.stalled, p.failures, null, null, null, 2
           from emq.pending p
          where p.queue = j.queue and p.rank in (j.priority * 2, j.priority * 2 + 1) and p.id = j.id
         union all
         select ''scheduled'', s.attempts, s.stalled, s.failures, null, null, s.run_at, 3
           from emq.scheduled s where s.id = j.id
         union all
         select ''dead'', d.attempts, d.stalled, d.failures, d.worker, d.died_at, null, 4
           from emq.dead d where d.id = j.id
         union all
         select r.status, r.attempts, r.stalled, r.failures, r.worker, r.claimed_at, r.finished_at, 5
           from emq.archive r
          where r.id = $1 and r.finished_at >= $2 and r.finished_at < $3
            and r.finished_at > j.enqueued_at - interval ''1 h''
       ) w
      where j.id = $1
      order by w.precedence
      limit 1'
    using p_id, emq.id_time(p_id) - interval '1 day', clock_timestamp() + interval '1 hour';
end $$;
revoke all on function emq.place from public;
