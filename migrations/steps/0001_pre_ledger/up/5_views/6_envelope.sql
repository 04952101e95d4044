-- Promise: the envelope of a job as it was enqueued, payload and all: the operator's.
-- Parameters: p_id.
-- Locks: none.
-- Index: job_pk.
create function emq.envelope(p_id uuid)
returns table (
  id uuid, queue text, task text, payload jsonb, headers jsonb, priority int, max_attempts int,
  lease_ms int, enqueued_at timestamptz
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select j.id, j.queue, j.task, j.payload, j.headers, j.priority::int, j.max_attempts::int,
         j.lease_ms, j.enqueued_at
    from emq.job j where j.id = p_id
$$;
