-- Promise: how the claim under this fence has ended: completed | failed | timed out | snoozed | released
--   | stalled | cancelled | expired, as its row of the archive or of the attempts says; `ours` says that
--   this very transaction has ended it, and may yet be rolled back. Null when it has not ended, or its
--   rows are kept no more.
-- Parameters: p_id, a UUIDv7; p_fence.
-- Locks: ACCESS SHARE on the partitions from a day before the id to an hour from now: EXECUTE plans at
--   each call, so pruning happens at planning (see archived.sql).
-- Index: archive_id_idx and attempt_id_idx of those partitions.
create function emq.end_of(p_id uuid, p_fence bigint, out how text, out ours boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_from timestamptz := emq.id_time(p_id) - interval '1 day';
  v_to timestamptz := clock_timestamp() + interval '1 hour';
begin
  execute 'select x.status, emq.mine(x.xmin) from emq.archive x
            where x.id = $1 and x.fence = $2 and x.finished_at >= $3 and x.finished_at < $4'
    into how, ours using p_id, p_fence, v_from, v_to;
  if how is null then
    execute 'select x.how, emq.mine(x.xmin) from emq.attempt x
              where x.id = $1 and x.fence = $2 and x.ended_at >= $3 and x.ended_at < $4'
      into how, ours using p_id, p_fence, v_from, v_to;
  end if;
end $$;
revoke all on function emq.end_of from public;
