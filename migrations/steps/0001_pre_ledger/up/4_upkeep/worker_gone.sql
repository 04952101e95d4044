-- Promise: a worker that ended in order is no longer shown.
-- Parameters: p_name.
-- Locks: its own row.
-- Index: worker_pk.
create function emq.worker_gone(p_name text) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$ delete from emq.worker w where w.name = p_name $$;
