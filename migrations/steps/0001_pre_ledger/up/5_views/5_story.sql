-- Promise: the whole story of a job in order of time: enqueued, each claim and how it ended, each
--   refused stale call, its end. Errors are in it, so it is the operator's.
-- Parameters: p_id.
-- Locks: none.
-- Index: job_pk, active_pk, dead_pk, attempt_id_idx, refusal_id_idx, archive_id_idx of all
--   partitions: for people, not for a hot path.
create function emq.story(p_id uuid)
returns table (at timestamptz, event text, attempts int, worker text, detail text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select e.at, e.event, e.attempts, e.worker, e.detail
    from (
      select j.enqueued_at as at, 'enqueued' as event, null::int as attempts, null::text as worker,
             format('task %s, queue %s, priority %s', j.task, j.queue, j.priority) as detail, 0 as n
        from emq.job j where j.id = p_id
      union all
      select t.claimed_at, 'claimed', (t.fence >> 40)::int, t.worker, null, 1
        from emq.attempt t where t.id = p_id
      union all
      select t.ended_at, t.how, (t.fence >> 40)::int, t.worker,
             coalesce(t.error, format('lease_deadline %s, extended %s times',
                                      t.lease_deadline, t.extensions)), 3
        from emq.attempt t where t.id = p_id
      union all
      select a.claimed_at, 'claimed', a.attempts, a.worker,
             format('lease_deadline %s, extended %s times', a.lease_deadline, a.extensions), 1
        from emq.active a where a.id = p_id
      union all
      select r.at, 'refused', (r.fence >> 40)::int, null,
             format('%s under a stale fence; the job was %s', r.verb,
                    coalesce('held at attempt ' || (r.held >> 40), 'held by nobody')), 4
        from emq.refusal r where r.id = p_id
      union all
      select d.died_at, 'dead', d.attempts, null, coalesce(d.reason || ': ' || d.error, d.reason), 5
        from emq.dead d where d.id = p_id
      union all
      select r.claimed_at, 'claimed', r.attempts, r.worker, null, 1
        from emq.archive r where r.id = p_id and r.status = 'completed'
      union all
      select r.finished_at, r.status, r.attempts, r.worker, r.result::text, 6
        from emq.archive r where r.id = p_id
    ) e
   order by e.at, e.n;
end $$;
