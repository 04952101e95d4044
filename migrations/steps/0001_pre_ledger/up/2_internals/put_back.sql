-- Promise: gives held jobs back, each with the row of its attempt, in one statement; never waits.
--   retry counts a failure and dead-letters what is out of budget; snooze and release count nothing;
--   release puts the job at the head of its level. Answers pending | scheduled | dead (done, and
--   where it is now) | lost | busy, in the order given.
-- Parameters: p_verb retry | snooze | release; p_ids, p_fences in step; p_delays null or in step
--   (none or zero: into the line at once); p_errors null or in step.
-- Locks: FOR UPDATE SKIP LOCKED on the ledger rows, in id order.
-- Index: active_pk, job_pk, queue_pk. `a.id = any (array[x.id])` is not merge-joinable, so the
--   planner cannot flip to a full scan of active_pk when statistics say that the table is empty.
create function emq.put_back(
  p_verb text, p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[]
) returns text[]
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
    select u.id, u.fence, u.delay, u.error
      from unnest(p_ids, p_fences, p_delays, p_errors) as u (id, fence, delay, error)
     order by 1
  ), x as materialized (
    select k.* from k
     cross join lateral (select 1 from emq.active a
                          where a.id = k.id and a.fence = k.fence for update skip locked) l
  ), d as (
    delete from emq.active a using x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a.*, x.error, clock_timestamp() as at,
              case when x.delay > interval '0' then clock_timestamp() + x.delay end as run_at,
              a.failures + (p_verb = 'retry')::int as f
  ), m as materialized (
    select d.*, j.lease_ms as own_lease_ms,
           p_verb = 'retry'
             and d.f + d.stalled >= coalesce(j.max_attempts, q.max_attempts, 25) as spent
      from d
      left join lateral (select y.max_attempts, y.lease_ms from emq.job y
                          where y.id = d.id offset 0) j on true
      left join lateral (select y.max_attempts from emq.queue y
                          where y.name = d.queue offset 0) q on true
  ), t as (
    insert into emq.attempt
      (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker, error)
    select m.id, m.fence, m.at, m.claimed_at, m.lease_deadline, m.extensions,
           case p_verb when 'retry' then 'failed' when 'snooze' then 'snoozed' else 'released' end,
           m.queue, m.worker, m.error
      from m
  ), e as (
    insert into emq.dead (id, fence, queue, attempts, rank, stalled, failures, reason, error)
    select m.id, m.fence, m.queue, m.attempts, m.rank, m.stalled, m.f, 'exception', m.error
      from m where m.spent
  ), s as (
    insert into emq.scheduled (run_at, id, queue, attempts, lease_ms, rank, stalled, failures)
    select m.run_at, m.id, m.queue, m.attempts, m.own_lease_ms, m.rank | 1, m.stalled, m.f
      from m where not m.spent and m.run_at is not null
  ), b as (
    insert into emq.pending (id, queue, attempts, lease_ms, rank, stalled, failures)
    select m.id, m.queue, m.attempts, m.own_lease_ms,
           case p_verb when 'release' then m.rank & ~1 else m.rank | 1 end, m.stalled, m.f
      from m where not m.spent and m.run_at is null
  )
  select array_agg(m.id), array_agg(m.fence),
         array_agg(case when m.spent then 'dead'
                        when m.run_at is not null then 'scheduled' else 'pending' end)
    into r, rf, v_where
    from m;

  if cardinality(r) = cardinality(p_ids) then
    v_rest := array_fill('done'::text, array[cardinality(p_ids)]);
  else
    v_rest := emq.rest(p_ids, p_fences, r, rf, p_verb);
  end if;
  return (
    select coalesce(array_agg(
             coalesce(case when k.answer = 'done' then v_where[array_position(r, k.id)] end, k.answer)
             order by k.i), '{}')
      from unnest(p_ids, v_rest) with ordinality as k (id, answer, i));
end $$;
