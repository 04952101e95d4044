-- Promise: for each of these dead letters the on_dead task of its queue is enqueued, so that code of
--   the application learns of it whichever way the job died, reaped by psql too: as a job, at least
--   once, with retries. A dead letter of that very task tells nobody, or it would for ever.
-- Parameters: p_ids, dead letters of this transaction.
-- Locks: none but those of new rows.
-- Index: dead_pk, queue_pk, under the planner settings of its caller.
create function emq.tell_dead(p_ids uuid[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  with d as materialized (
    select emq.uuid7() as hook, coalesce(q.on_dead_queue, d.queue) as line, q.on_dead, d.*
      from unnest(p_ids) as k (id)
      join emq.dead d on d.id = any (array[k.id])
      join emq.queue q on q.name = any (array[d.queue])
     where q.on_dead is not null and d.task is distinct from q.on_dead
  ), j as (
    insert into emq.job (id, priority, queue, task, payload)
    select d.hook, 2, d.line, d.on_dead, jsonb_build_object(
             'job_id', d.id, 'queue', d.queue, 'task', d.task, 'reason', d.reason,
             'error', d.error, 'attempts', d.attempts, 'stalled', d.stalled, 'failures', d.failures)
      from d
  )
  insert into emq.pending (id, queue, rank) select d.hook, d.line, 5 from d;
end $$;
revoke all on function emq.tell_dead from public;
