-- Promise: of these held jobs those that have been lost before and whose next lost lease would make
--   them dead letters. A worker runs such a job apart from others: if it is what kills its process,
--   it shall cost nobody else.
-- Parameters: p_ids, p_fences in step.
-- Locks: none.
-- Index: active_pk, job_pk, queue_pk.
create function emq.last_chance(p_ids uuid[], p_fences bigint[]) returns uuid[]
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  return (
    select coalesce(array_agg(k.id), '{}')
      from unnest(p_ids, p_fences) as k (id, fence)
      cross join lateral (select y.queue, y.stalled, y.failures from emq.active y
                           where y.id = k.id and y.fence = k.fence offset 0) a
      left join lateral (select y.max_stalled, y.max_attempts from emq.queue y
                          where y.name = a.queue offset 0) q on true
      left join lateral (select y.max_attempts from emq.job y
                          where y.id = k.id offset 0) j on true
     where a.stalled > 0
       and (a.stalled + 1 >= coalesce(q.max_stalled, 3)
            or a.stalled + 1 + a.failures >= coalesce(j.max_attempts, q.max_attempts, 25)));
end $$;
revoke all on function emq.last_chance from public;
