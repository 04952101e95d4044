-- Promise: for each of these dead letters the on_dead task of its queue is enqueued, so that code of
--   the application learns of it whichever way the job died, reaped by psql too: as a job, at least
--   once, with retries. A quarantine that names no task has that of the queue from which the job came.
--   A dead letter that is such a hook itself tells nobody, or two queues could tell each other for
--   ever: hooks are marked by a header.
-- Parameters: p_ids, dead letters of this transaction.
-- Locks: none but those of new rows.
-- Index: dead_pk, job_pk, queue_pk, under the planner settings of its caller; attempt_id_idx of all
--   partitions for what dies in a quarantine.
create function emq.tell_dead(p_ids uuid[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  with d as materialized (
    select emq.uuid7() as hook, coalesce(h.on_dead_queue, h.name) as line, h.on_dead, d.*
      from unnest(p_ids) as k (id)
      join emq.dead d on d.id = any (array[k.id])
      left join emq.job j on j.id = any (array[k.id])
      cross join lateral (
        select q.name, q.on_dead, q.on_dead_queue
          from emq.queue q
         where q.on_dead is not null
           and (q.name = d.queue
                or q.quarantine = d.queue
                   and exists (select from emq.attempt t where t.id = d.id and t.queue = q.name))
         order by q.name = d.queue desc, q.name limit 1) h
     where not coalesce(j.headers ? 'emq-on-dead', false)
  ), j as (
    insert into emq.job (id, priority, queue, task, payload, headers)
    select d.hook, 2, d.line, d.on_dead, jsonb_build_object(
             'job_id', d.id, 'queue', d.queue, 'task', d.task, 'reason', d.reason,
             'error', d.error, 'attempts', d.attempts, 'stalled', d.stalled, 'failures', d.failures),
           '{"emq-on-dead": true}'
      from d
  )
  insert into emq.pending (id, queue, rank) select d.hook, d.line, 5 from d;
end $$;
revoke all on function emq.tell_dead from public;
