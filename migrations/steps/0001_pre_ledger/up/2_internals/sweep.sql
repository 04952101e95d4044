-- Promise: the one counted recovery. Expired leases go back to the head of their level with
--   stalled + 1, or to the dead letters when stalled reaches max_stalled or stalled + failures
--   reaches max_attempts. One statement; done again row by row only when it raised, so that one bad
--   row stops nobody (it is counted in `skipped`).
-- Parameters: p_queue null for all; p_max_stalled null for the queue's; p_limit rows at most.
-- Locks: FOR UPDATE SKIP LOCKED: a job that is completed, extended or guarded right now is left.
-- Index: active_deadline_idx from the published floor. The clock is read into a variable first: a
--   volatile function is no index condition, and the scan would walk every running job.
create function emq.sweep(
  p_queue text, p_max_stalled int, p_limit int,
  out back uuid[], out died uuid[], out skipped int
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_from timestamptz;
  c record;
begin
  v_from := coalesce((select case when s.t > v_now then '-infinity' else s.reap_from end
                        from emq.settled s order by s.n desc limit 1), '-infinity');
  begin
    skipped := 0;
    with x as materialized (
      select a.ctid as c from emq.active a
       where a.lease_deadline < v_now and a.lease_deadline >= v_from
         and (p_queue is null or a.queue = p_queue)
       order by a.lease_deadline limit p_limit
       for update skip locked
    ), d as (
      delete from emq.active a using x where a.ctid = x.c
      returning a.id, a.fence, a.queue, a.attempts, a.rank, (a.stalled + 1)::smallint as stalled,
                a.failures, a.claimed_at, a.lease_deadline, a.extensions, a.worker
    ), m as materialized (
      select d.*, j.lease_ms as own_lease_ms,
             d.stalled >= coalesce(p_max_stalled, q.max_stalled, 3)
               or d.stalled + d.failures >= coalesce(j.max_attempts, q.max_attempts, 25) as spent
        from d
        left join lateral (select y.max_stalled, y.max_attempts from emq.queue y
                            where y.name = d.queue offset 0) q on true
        left join lateral (select y.max_attempts, y.lease_ms from emq.job y
                            where y.id = d.id offset 0) j on true
    ), t as (
      insert into emq.attempt
        (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker)
      select m.id, m.fence, clock_timestamp(), m.claimed_at, m.lease_deadline, m.extensions,
             'stalled', m.queue, m.worker
        from m
    ), b as (
      insert into emq.pending (id, queue, attempts, lease_ms, rank, stalled, failures)
      select m.id, m.queue, m.attempts, m.own_lease_ms, m.rank & ~1, m.stalled, m.failures
        from m where not m.spent
      returning id
    ), e as (
      insert into emq.dead (id, fence, queue, attempts, rank, stalled, failures, reason)
      select m.id, m.fence, m.queue, m.attempts, m.rank, m.stalled, m.failures, 'stalled'
        from m where m.spent
      returning id
    )
    select (select coalesce(array_agg(b.id), '{}') from b),
           (select coalesce(array_agg(e.id), '{}') from e)
      into back, died;
  exception when data_exception or integrity_constraint_violation or raise_exception then
    back := '{}';
    died := '{}';
    skipped := 0;
    for c in
      select a.id, a.fence from emq.active a
       where a.lease_deadline < v_now and a.lease_deadline >= v_from
         and (p_queue is null or a.queue = p_queue)
       order by a.lease_deadline limit p_limit
       for update skip locked
    loop
      begin
        if emq.reap_one(c.id, c.fence, p_max_stalled) = 'dead' then
          died := died || c.id;
        else
          back := back || c.id;
        end if;
      exception when others then
        skipped := skipped + 1;
      end;
    end loop;
  end;

  if back <> '{}' or died <> '{}' or skipped > 0
     or not exists (select 1 from emq.reap_log l where l.at > v_now - interval '5 s') then
    insert into emq.reap_log (recovered, dead, skipped, who)
    values (cardinality(back), cardinality(died), skipped,
            coalesce(nullif(current_setting('application_name'), ''), session_user::text));
    delete from emq.reap_log l where l.at < v_now - interval '1 day';
  end if;
end $$;
