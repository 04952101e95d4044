-- Promise: shows a worker to people (never read by recovery): made at its start, renewed while it
--   lives. A worker that was not seen for a day is forgotten by maintain.
-- Parameters: p_name; p_queues; p_slots; p_version.
-- Locks: its own row.
-- Index: worker_pk.
create function emq.worker_seen(p_name text, p_queues text[], p_slots int, p_version text)
returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  insert into emq.worker (name, queues, slots, version)
  values (p_name, p_queues, p_slots, p_version)
  on conflict on constraint worker_pk do update
    set seen_at = clock_timestamp(), queues = excluded.queues, slots = excluded.slots
$$;
