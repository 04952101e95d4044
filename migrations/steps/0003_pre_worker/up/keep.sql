-- Promise: what a worker's keeper asks, in one statement: extends the leases (see extend.sql) and
--   brings back what operators want meanwhile. Answers done | lost | busy | cancelled for each, in
--   order (cancelled: an operator ended this job, and its fence), and those of the queues that are
--   paused. Never waits.
-- Parameters: p_ids, p_fences in step; p_queues, those that the worker claims from, or null;
--   p_lease from now, each job's own when null.
-- Locks: those of extend.
-- Index: active_pk; archive_id_idx of a few partitions for what is lost; queue_pk.
-- A cancelled job's extension stays on record as refused: the holder was late to know.
create function emq.keep(
  p_ids uuid[], p_fences bigint[], p_queues text[] default null, p_lease interval default null,
  out answers text[], out paused text[]
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_cancelled uuid[];
begin
  answers := emq.extend(p_ids, p_fences, p_lease);
  if 'lost' = any (answers) then
    select array_agg(x.id) into v_cancelled
      from emq.archived((select array_agg(k.id) from unnest(p_ids, answers) as k (id, answer)
                          where k.answer = 'lost')) x
     where x.status = 'cancelled';
    select array_agg(
             case when k.answer = 'lost' and k.id = any (v_cancelled) then 'cancelled'
                  else k.answer end order by k.i)
      into answers
      from unnest(p_ids, answers) with ordinality as k (id, answer, i);
  end if;
  select coalesce(array_agg(u.name), '{}') into paused
    from unnest(p_queues) as u (name)
   where exists (select 1 from emq.queue q where q.name = u.name and q.paused);
end $$;
revoke all on function emq.keep from public;
