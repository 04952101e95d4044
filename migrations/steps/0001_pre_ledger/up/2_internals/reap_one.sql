-- Promise: takes back one expired lease, counted; used by sweep only, when a batch has raised.
-- Parameters: p_id, p_fence of the row (locked by the caller); p_max_stalled null for the queue's.
-- Locks: the row is locked already.
-- Index: active_pk, job_pk, queue_pk.
create function emq.reap_one(p_id uuid, p_fence bigint, p_max_stalled int) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  a emq.active;
  q emq.queue;
  j emq.job;
begin
  delete from emq.active x where x.id = p_id and x.fence = p_fence returning x.* into a;
  select y.* into q from emq.queue y where y.name = a.queue;
  select y.* into j from emq.job y where y.id = p_id;
  insert into emq.attempt
    (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker)
  values (a.id, a.fence, clock_timestamp(), a.claimed_at, a.lease_deadline, a.extensions,
          'stalled', a.queue, a.worker);
  if a.stalled + 1 >= coalesce(p_max_stalled, q.max_stalled, 3)
     or a.stalled + 1 + a.failures >= coalesce(j.max_attempts, q.max_attempts, 25) then
    insert into emq.dead (id, fence, queue, attempts, rank, stalled, failures, reason)
    values (a.id, a.fence, a.queue, a.attempts, a.rank, a.stalled + 1, a.failures, 'stalled');
    return 'dead';
  end if;
  insert into emq.pending (id, queue, attempts, lease_ms, rank, stalled, failures)
  values (a.id, a.queue, a.attempts, j.lease_ms, a.rank & ~1, a.stalled + 1, a.failures);
  return 'pending';
end $$;
