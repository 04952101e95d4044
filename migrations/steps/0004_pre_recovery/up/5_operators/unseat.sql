-- Promise: of these jobs those that are dead or have ended and, if asked, those that run, lose their
--   places (their fences end with them) and are answered: the caller erases them before the
--   transaction ends. What waits, and what an open transaction has, is left as it is.
-- Parameters: p_ids; p_active, whether also those that run.
-- Locks: FOR UPDATE SKIP LOCKED on envelopes, ledger rows and dead letters.
-- Index: job_pk, active_pk, dead_pk, archive_id_idx of the partitions from a day before the oldest id on
--   (EXECUTE plans at each call, see archived.sql).
-- An id that was retired may live again beside its old archive row: that is no end of this job, being
-- an hour older than its envelope at least (see retire.sql).
create function emq.unseat(p_ids uuid[], p_active boolean) returns uuid[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  v_ids uuid[];
  v_added timestamptz[];
  v_from timestamptz;
  v_active uuid[];
  v_dead uuid[];
  v_ended uuid[];
begin
  select array_agg(j.id), array_agg(j.enqueued_at), min(emq.id_time(j.id)) - interval '1 day'
    into v_ids, v_added, v_from
    from (select y.id, y.enqueued_at from emq.job y where y.id = any (p_ids)
           order by y.id for update skip locked) j;
  if v_ids is null then
    return null;
  end if;
  if p_active then
    with x as materialized (
      select a.id from emq.active a where a.id = any (v_ids) order by a.id for update skip locked
    ), d as (
      delete from emq.active a using x where a.id = any (array[x.id]) returning a.id
    )
    select array_agg(d.id) into v_active from d;
  end if;
  with x as materialized (
    select y.id from emq.dead y where y.id = any (v_ids) order by y.id for update skip locked
  ), d as (
    delete from emq.dead y using x where y.id = any (array[x.id]) returning y.id
  )
  select array_agg(d.id) into v_dead from d;
  execute
    'select array_agg(distinct x.id)
       from unnest($1, $2) as k (id, enqueued_at)
       join emq.archive x on x.id = k.id
      where x.finished_at >= $3 and x.finished_at > k.enqueued_at - interval ''1 h'''
    into v_ended using v_ids, v_added, v_from;
  return v_active || v_dead || v_ended;
end $$;
revoke all on function emq.unseat from public;
