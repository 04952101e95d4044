-- Promise: a waiting job goes to the archive, and a running one too, and with it its fence: from
--   that commit on its holder can commit nothing. Answers done | busy (somebody holds or moves it
--   in an open transaction: ask again) | lost (nothing there to cancel). Never waits. Audited.
-- Parameters: p_id; p_label.
-- Locks: FOR UPDATE SKIP LOCKED on the row, wherever it is. One statement and one snapshot, in which
--   the job is in exactly one place.
-- Index: active_pk. pending and scheduled have none on id (each enqueue would pay for it): the job's
--   level of its queue is scanned. Not for a loop over a long line.
create or replace function emq.cancel(p_id uuid, p_label text default null) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_q text;
  v_ranks smallint[];
  n int;
begin
  select j.queue, array[j.priority * 2, j.priority * 2 + 1]::smallint[]
    into v_q, v_ranks from emq.job j where j.id = p_id;
  if not found then
    return 'lost';
  end if;

  with xa as materialized (
    select a.id from emq.active a where a.id = p_id for update skip locked
  ), a as (  -- by key: follows an extend that committed after the snapshot, where a ctid would not
    delete from emq.active a using xa where a.id = any (array[xa.id]) returning a.*
  ), xp as materialized (
    select r.ctid as c from emq.pending r
     where r.queue = v_q and r.rank = any (v_ranks) and r.id = p_id
       and not exists (select 1 from xa)
     for update skip locked
  ), p as (
    delete from emq.pending r using xp where r.ctid = xp.c returning r.*
  ), xs as materialized (
    select r.ctid as c from emq.scheduled r
     where r.id = p_id and not exists (select 1 from xa) and not exists (select 1 from xp)
     for update skip locked
  ), s as (
    delete from emq.scheduled r using xs where r.ctid = xs.c returning r.*
  ), t as (
    insert into emq.attempt
      (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker)
    select a.id, a.fence, clock_timestamp(), a.claimed_at, a.lease_deadline, a.extensions,
           'cancelled', a.queue, a.worker
      from a
  ), i as (
    insert into emq.archive
      (id, finished_at, claimed_at, attempts, stalled, failures, status, queue, worker,
       lease_deadline)
    select m.id, clock_timestamp(), m.claimed_at, m.attempts, m.stalled, m.failures, 'cancelled',
           m.queue, m.worker, m.lease_deadline
      from (
        select a.id, a.claimed_at, a.attempts, a.stalled, a.failures, a.queue, a.worker,
               a.lease_deadline from a
        union all
        select p.id, null, p.attempts, p.stalled, p.failures, p.queue, null, null from p
        union all
        select s.id, null, s.attempts, s.stalled, s.failures, s.queue, null, null from s) m
    returning 1
  )
  select count(*) into n from i;
  if n > 0 then
    insert into emq.audit (verb, queue, id, label) values ('cancel', v_q, p_id, p_label);
    return 'done';
  end if;
  perform 1 from emq.dead d where d.id = p_id;
  if found then
    return 'lost';
  end if;
  perform 1 from emq.archived(array[p_id]);
  return case when found then 'lost' else 'busy' end;
end $$;
revoke all on function emq.cancel from public;
