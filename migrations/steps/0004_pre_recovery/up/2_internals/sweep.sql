-- Promise: the one counted recovery. Expired leases go back to the head of their level with
--   stalled + 1, or to the dead letters when a budget is spent (see end_runs.sql). Set-based; done
--   again row by row only when it raised, so that one bad row stops nobody (it is counted in
--   `skipped`).
-- Parameters: p_queue null for all; p_max_stalled null for the queue's; p_limit rows at most.
-- Locks: FOR UPDATE SKIP LOCKED: a job that is completed, extended or guarded right now is left.
-- Index: active_deadline_idx from the published floor. The clock is read into a variable first: a
--   volatile function is no index condition, and the scan would walk every running job.
create or replace function emq.sweep(
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
  v_runs emq.active[];
  v_where text[];
  c record;
begin
  v_from := coalesce((select case when s.t > v_now then '-infinity' else s.reap_from end
                        from emq.settled s order by s.n desc limit 1), '-infinity');
  back := '{}';
  died := '{}';
  skipped := 0;
  begin
    with x as materialized (
      select a.ctid as c from emq.active a
       where a.lease_deadline < v_now and a.lease_deadline >= v_from
         and (p_queue is null or a.queue = p_queue)
       order by a.lease_deadline limit p_limit
       for update skip locked
    ), d as (
      delete from emq.active a using x where a.ctid = x.c returning a as run
    )
    select array_agg(d.run order by (d.run).lease_deadline) into v_runs from d;
    if v_runs is not null then
      v_where := emq.end_runs(
        v_runs, array_fill('stalled'::text, array[cardinality(v_runs)]),
        p_max_stalled => p_max_stalled);
      select coalesce(array_agg(k.id) filter (where k.answer <> 'dead'), '{}'),
             coalesce(array_agg(k.id) filter (where k.answer = 'dead'), '{}')
        into back, died
        from unnest(v_runs, v_where) as k (
          id, fence, lease_deadline, claimed_at, attempts, lease_ms, extensions, rank, stalled,
          failures, queue, worker, answer);
    end if;
  exception when data_exception or integrity_constraint_violation or raise_exception then
    back := '{}';
    died := '{}';
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
revoke all on function emq.sweep from public;
