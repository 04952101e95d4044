-- Promise: wakes workers that listen for this queue, after the caller's commit. A hint: a worker
--   that misses it finds the job at its next poll.
-- Parameters: p_queue.
-- Locks: NOTIFY takes one lock of the whole cluster through the caller's commit. Call it after the
--   commit of the enqueue, in a transaction of its own, never once a row.
-- Index: none.
create function emq.ring(p_queue text) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$ select pg_notify('emq.ring', p_queue) $$;
