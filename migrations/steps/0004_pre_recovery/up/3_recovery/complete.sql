-- Promise: retires only what is still active under that fence, with its archive row in the same
--   statement. Answers for each, in order: done (now, or by an earlier call under the same fence:
--   a repeat is a success), lost (nothing changed, recorded), busy (ask again). Never waits. A
--   lease that has expired and that nobody has reaped yet still completes.
-- Parameters: p_ids, p_fences, p_results in step (p_results may be null).
-- Locks: FOR UPDATE SKIP LOCKED on the ledger rows, in id order.
-- Index: active_pk. SKIP LOCKED follows an extend that committed after the snapshot, and the delete
--   joins on the key, which follows it too (a ctid would not). `a.id = any (array[x.id])` is not
--   merge-joinable: no full scan of a primary key to flip to when statistics say "empty".
create or replace function emq.complete(p_ids uuid[], p_fences bigint[], p_results jsonb[] default null)
returns text[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  r uuid[];
  rf bigint[];
  n int := cardinality(p_ids);
begin
  with k as (
    select u.id, u.fence, u.result
      from unnest(p_ids, p_fences, p_results) as u (id, fence, result) order by 1
  ), x as materialized (
    select k.* from k
     cross join lateral (select 1 from emq.active a
                          where a.id = k.id and a.fence = k.fence for update skip locked) l
  ), d as (
    delete from emq.active a using x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a.id, a.fence, a.claimed_at, a.attempts, a.stalled, a.failures, a.queue, a.worker,
              a.lease_deadline, x.result
  ), i as (
    insert into emq.archive
      (id, fence, finished_at, claimed_at, attempts, stalled, failures, status, queue, worker, result,
       lease_deadline)
    select d.id, d.fence, clock_timestamp(), d.claimed_at, d.attempts, d.stalled, d.failures,
           'completed', d.queue, d.worker, d.result, d.lease_deadline
      from d
  )
  select array_agg(d.id), array_agg(d.fence) into r, rf from d;
  if cardinality(r) = n then
    return array_fill('done'::text, array[n]);
  end if;
  return coalesce(emq.rest(p_ids, p_fences, r, rf, 'complete'), '{}');
end $$;
revoke all on function emq.complete from public;
