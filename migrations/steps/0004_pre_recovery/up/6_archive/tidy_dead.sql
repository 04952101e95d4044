-- Promise: one step of giving up dead letters that are older than their queue's dead_retention: they
--   go to the archive as discarded, audited with the label 'retention'. Queues that say nothing keep
--   theirs until somebody acts. Null when there are none.
-- Parameters: p_limit letters.
-- Locks: FOR UPDATE SKIP LOCKED on the dead rows.
-- Index: dead_queue_died_at_idx, dead_pk.
create function emq.tidy_dead(
  p_limit int, out did text, out what text, out remaining bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  n int;
begin
  with x as materialized (
    select l.id
      from (select q.name, emq.ago(q.dead_retention) as before
              from emq.queue q where q.dead_retention is not null offset 0) q
     cross join lateral (select y.id from emq.dead y
                          where y.queue = q.name and y.died_at < q.before
                          order by y.died_at limit p_limit for update skip locked) l
     limit p_limit
  ), d as (
    delete from emq.dead d using x where d.id = any (array[x.id]) returning d.*
  ), i as (
    insert into emq.archive (id, finished_at, attempts, stalled, failures, status, queue, worker)
    select d.id, clock_timestamp(), d.attempts, d.stalled, d.failures, 'discarded', d.queue, d.worker
      from d
  ), u as (
    insert into emq.audit (verb, queue, id, label, detail)
    select 'discard', d.queue, d.id, 'retention',
           jsonb_build_object('reason', d.reason, 'error', d.error)
      from d
  )
  select count(*) into n from d;
  if n > 0 then
    did := 'discarded';
    what := 'dead';
  end if;
end $$;
revoke all on function emq.tidy_dead from public;
