-- Promise: which of these ids are archived, and how; exact for as long as the rows are kept.
-- Parameters: p_ids, all of them UUIDv7.
-- Locks: ACCESS SHARE on the partitions from a day before the oldest id to an hour from now, and on
--   no others: EXECUTE plans at each call, so pruning happens at planning. A cached plan would lock
--   every partition to the end of the caller's transaction, and none could be attached meanwhile.
-- Index: archive_id_idx of those partitions.
-- A job cannot finish before its id was minted; the day is for the producer's clock.
create function emq.archived(p_ids uuid[])
returns table (id uuid, fence bigint, status text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_from timestamptz := emq.id_time(p_ids[1]);
begin
  if cardinality(p_ids) > 1 then
    select min(emq.id_time(u)) into v_from from unnest(p_ids) u;
  end if;
  return query execute
    'select x.id, x.fence, x.status from emq.archive x
      where x.id = any($1) and x.finished_at >= $2 and x.finished_at < $3'
    using p_ids, v_from - interval '1 day', clock_timestamp() + interval '1 hour';
end $$;
