-- Promise: a dead job is given up: it goes to the archive, so that its envelope is retired like any
--   other and its id stays a duplicate until then, and who held it last can be found. Answers done | busy | lost. Audited.
-- Parameters: p_id; p_label.
-- Locks: FOR UPDATE SKIP LOCKED on the dead row.
-- Index: dead_pk.
create or replace function emq.discard(p_id uuid, p_label text default null) returns text
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
  ), i as (
    insert into emq.archive (id, finished_at, attempts, stalled, failures, status, queue, worker)
    select d.id, clock_timestamp(), d.attempts, d.stalled, d.failures, 'discarded', d.queue, d.worker
      from d
    returning 1
  ), u as (
    insert into emq.audit (verb, queue, id, label, detail)
    select 'discard', d.queue, d.id, p_label, jsonb_build_object('reason', d.reason, 'error', d.error)
      from d
  )
  select count(*) into n from i;
  if n > 0 then
    return 'done';
  end if;
  perform 1 from emq.dead d where d.id = p_id;
  return case when found then 'busy' else 'lost' end;
end $$;
revoke all on function emq.discard from public;
