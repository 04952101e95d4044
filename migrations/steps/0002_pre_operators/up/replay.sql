-- Promise: a dead job goes back into the line under its id. attempts are kept, so that its fence goes
--   on growing; stalled and failures start afresh. Answers done | busy | lost. Audited.
-- Parameters: p_id; p_label.
-- Locks: FOR UPDATE SKIP LOCKED on the dead row.
-- Index: dead_pk, job_pk.
create function emq.replay(p_id uuid, p_label text default null) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  n int;
begin
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
      from d
  )
  select count(*) into n from b;
  if n > 0 then
    return 'done';
  end if;
  perform 1 from emq.dead d where d.id = p_id;
  return case when found then 'busy' else 'lost' end;
end $$;
revoke all on function emq.replay from public;
