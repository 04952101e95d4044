-- Promise: scheduled jobs that are due join the line, at the tail of their level, in the order of
--   their instants. Answers how many.
-- Parameters: p_limit rows at most.
-- Locks: FOR UPDATE SKIP LOCKED on the rows moved.
-- Index: scheduled_pk from the published floor. The clock is a variable (see sweep.sql). Rows of
--   scheduled are never updated, so a delete by ctid is right.
create function emq.promote(p_limit int default 1000) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_n int;
  v_now timestamptz := clock_timestamp();
  v_from timestamptz;
begin
  v_from := coalesce((select case when s.t > v_now then '-infinity' else s.promote_from end
                        from emq.settled s order by s.n desc limit 1), '-infinity');
  with x as materialized (
    select s.ctid as c from emq.scheduled s
     where s.run_at <= v_now and s.run_at >= v_from
     order by s.run_at, s.id limit p_limit
     for update skip locked
  ), d as (
    delete from emq.scheduled s using x where s.ctid = x.c returning s.*
  ), i as (
    insert into emq.pending (id, queue, attempts, lease_ms, rank, stalled, failures)
    select d.id, d.queue, d.attempts, d.lease_ms, d.rank, d.stalled, d.failures
      from d order by d.run_at, d.id
    returning 1
  )
  select count(*) into v_n from i;
  return v_n;
end $$;
