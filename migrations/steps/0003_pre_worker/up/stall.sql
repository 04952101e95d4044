-- Promise: the holder knows that its run is lost, for the process that ran it has died: at once what
--   the reaper would do at the end of the lease. The job goes to the head of its level with
--   stalled + 1, or to the dead letters when stalled reaches max_stalled or stalled + failures
--   reaches max_attempts. Answers pending | dead (done, and where it is now) | lost | busy for each,
--   in order; never waits.
-- Parameters: p_ids, p_fences in step; p_errors, how the process died, null or in step.
-- Locks: FOR UPDATE SKIP LOCKED on the ledger rows, in id order.
-- Index: active_pk, job_pk, queue_pk (see put_back.sql for the form of the join).
create function emq.stall(p_ids uuid[], p_fences bigint[], p_errors text[] default null)
returns text[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  r uuid[];
  rf bigint[];
  v_where text[];
  v_rest text[];
begin
  with k as (
    select u.id, u.fence, u.error from unnest(p_ids, p_fences, p_errors) as u (id, fence, error)
     order by 1
  ), x as materialized (
    select k.* from k
     cross join lateral (select 1 from emq.active a
                          where a.id = k.id and a.fence = k.fence for update skip locked) l
  ), d as (
    delete from emq.active a using x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a.id, a.fence, a.queue, a.attempts, a.rank, (a.stalled + 1)::smallint as stalled,
              a.failures, a.claimed_at, a.lease_deadline, a.extensions, a.worker, x.error
  ), m as materialized (
    select d.*, j.lease_ms as own_lease_ms,
           d.stalled >= coalesce(q.max_stalled, 3)
             or d.stalled + d.failures >= coalesce(j.max_attempts, q.max_attempts, 25) as spent
      from d
      left join lateral (select y.max_stalled, y.max_attempts from emq.queue y
                          where y.name = d.queue offset 0) q on true
      left join lateral (select y.max_attempts, y.lease_ms from emq.job y
                          where y.id = d.id offset 0) j on true
  ), t as (
    insert into emq.attempt
      (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker, error)
    select m.id, m.fence, clock_timestamp(), m.claimed_at, m.lease_deadline, m.extensions,
           'stalled', m.queue, m.worker, m.error
      from m
  ), b as (
    insert into emq.pending (id, queue, attempts, lease_ms, rank, stalled, failures)
    select m.id, m.queue, m.attempts, m.own_lease_ms, m.rank & ~1, m.stalled, m.failures
      from m where not m.spent
  ), e as (
    insert into emq.dead (id, fence, queue, attempts, rank, stalled, failures, reason, error)
    select m.id, m.fence, m.queue, m.attempts, m.rank, m.stalled, m.failures, 'stalled', m.error
      from m where m.spent
  )
  select array_agg(m.id), array_agg(m.fence),
         array_agg(case when m.spent then 'dead' else 'pending' end)
    into r, rf, v_where
    from m;

  v_rest := emq.rest(p_ids, p_fences, r, rf, 'stall');
  return (
    select coalesce(array_agg(
             coalesce(case when k.answer = 'done' then v_where[array_position(r, k.id)] end, k.answer)
             order by k.i), '{}')
      from unnest(p_ids, v_rest) with ordinality as k (id, answer, i));
end $$;
revoke all on function emq.stall from public;
