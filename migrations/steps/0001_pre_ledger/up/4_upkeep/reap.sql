-- Promise: expired leases of all queues are taken back, counted (see sweep.sql). Needs no handler,
--   worker or extension: psql, pg_cron and workers may call it, at the same time too.
-- Parameters: p_limit rows at most; call again while it answers that many.
-- Locks: those of sweep.
-- Index: those of sweep.
create function emq.reap(p_limit int default 500, out recovered int, out dead int, out skipped int)
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  select cardinality(w.back), cardinality(w.died), w.skipped from emq.sweep(null, null, p_limit) w
$$;
