-- Promise: the stored result of a completed job: one row when it has completed and is not retired,
--   else none.
-- Parameters: p_id.
-- Locks: ACCESS SHARE on a few partitions (see archived.sql).
-- Index: archive_id_idx of those partitions.
create function emq.result(p_id uuid)
returns table (finished_at timestamptz, result jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
  return query execute
    'select x.finished_at, x.result from emq.archive x
      where x.id = $1 and x.status = ''completed''
        and x.finished_at >= $2 and x.finished_at < $3'
    using p_id, emq.id_time(p_id) - interval '1 day', clock_timestamp() + interval '1 hour';
end $$;
