-- Promise: puts on record that the SQL which the handler of this job runs should be ended too: its worker
--   does that when it learns that the job was cancelled, on direct connections. Call it before cancel,
--   in the same transaction. Audited: the record is the wish.
-- Parameters: p_id; p_label.
-- Locks: none.
-- Index: job_pk.
create function emq.stop_sql(p_id uuid, p_label text default null) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  insert into emq.audit (verb, queue, id, label)
  select 'stop sql', j.queue, j.id, p_label from emq.job j where j.id = p_id
$$;
revoke all on function emq.stop_sql from public;
