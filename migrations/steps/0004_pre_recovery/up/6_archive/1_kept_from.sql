-- Promise: the instant from which on nobody's history may go: the longest retention of all, the
--   ledger's and every queue's. Null when the ledger's row is gone, so that nothing goes.
-- Parameters: none.
-- Locks: none.
-- Index: none: queues with settings are few.
create function emq.kept_from() returns timestamptz
language sql stable security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
  select least(emq.ago(m.retention), q.finished, q.cancelled)
    from emq.meta m
    cross join (select min(emq.ago(x.retention)) as finished,
                       min(emq.ago(x.cancelled_retention)) as cancelled from emq.queue x) q
$$;
revoke all on function emq.kept_from from public;
