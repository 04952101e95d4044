-- Promise: this dead letter goes back into the line under its id, permanent failure or not, since it
--   was named; as in replay_many. What its queue says of replays holds, unless forced: never | too old
--   are answers then. Else done | busy | lost. Audited, with what was overridden.
-- Parameters: p_id; p_force; p_label.
-- Locks: FOR UPDATE SKIP LOCKED on the dead row.
-- Index: dead_pk, job_pk, queue_pk.
create function emq.replay_one(p_id uuid, p_force boolean default false, p_label text default null)
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_verdict text;
  n int;
begin
  select emq.replay_verdict(d.reason, d.died_at, q.replay_within, clock_timestamp(), true)
    into v_verdict
    from emq.dead d
    left join lateral (select y.replay_within from emq.queue y where y.name = d.queue offset 0) q on true
   where d.id = p_id;
  if not found then
    return 'lost';
  end if;
  if v_verdict <> 'replay' and p_force is not true then
    return v_verdict;
  end if;
  with x as materialized (
    select d.id from emq.dead d where d.id = p_id for update skip locked
  ), d as (
    delete from emq.dead d using x where d.id = any (array[x.id]) returning d.*
  ), b as (
    insert into emq.pending (id, queue, attempts, lease_ms, rank)
    select d.id, d.queue, d.attempts, j.lease_ms, d.rank | 1
      from d
      left join lateral (select y.lease_ms from emq.job y where y.id = d.id offset 0) j on true
    returning 1
  ), u as (
    insert into emq.audit (verb, queue, id, label, detail)
    select 'replay', d.queue, d.id, p_label,
           jsonb_build_object('reason', d.reason, 'stalled', d.stalled, 'failures', d.failures)
           || case when v_verdict = 'replay' then '{}' else jsonb_build_object('forced', v_verdict) end
      from d
  )
  select count(*) into n from b;
  if n > 0 then
    return 'done';
  end if;
  perform 1 from emq.dead d where d.id = p_id;
  return case when found then 'busy' else 'lost' end;
end $$;
revoke all on function emq.replay_one from public;
