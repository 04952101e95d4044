-- Promise: moves the lease_deadline of held jobs forward, never back. Answers done | lost | busy
--   for each, in order; never waits. A guard's lock lets it pass. One that comes after its
--   lease_deadline, to a job that nobody has taken back, is done, and put on record as late.
-- Parameters: p_ids, p_fences in step; p_lease from now, each job's own when null.
-- Locks: FOR NO KEY UPDATE SKIP LOCKED on the ledger rows, in id order.
-- Index: active_pk (see complete.sql for the form of the join).
-- The clock is read inside the statement, under its table lock: that makes reap's floor exact.
create or replace function emq.extend(p_ids uuid[], p_fences bigint[], p_lease interval default null)
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
    select u.id, u.fence from unnest(p_ids, p_fences) as u (id, fence) order by 1
  ), x as materialized (
    select k.*, l.was from k
     cross join lateral (select a.lease_deadline as was from emq.active a
                          where a.id = k.id and a.fence = k.fence for no key update skip locked) l
  ), e as (
    update emq.active a
       set lease_deadline = greatest(
             a.lease_deadline, clock_timestamp() + coalesce(p_lease, a.lease_ms * interval '1 ms')),
           extensions = a.extensions + 1
      from x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a.id, a.fence, x.was
  ), l as (
    insert into emq.late (id, fence, lease_deadline)
    select e.id, e.fence, e.was from e where e.was < clock_timestamp()
  )
  select array_agg(e.id), array_agg(e.fence) into r, rf from e;
  if cardinality(r) = n then
    return array_fill('done'::text, array[n]);
  end if;
  return coalesce(emq.rest(p_ids, p_fences, r, rf, 'extend'), '{}');
end $$;
revoke all on function emq.extend from public;
