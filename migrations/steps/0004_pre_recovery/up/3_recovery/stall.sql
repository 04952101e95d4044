-- Promise: the holder knows that its run is lost, for the process that ran it has died: at once what
--   the reaper would do at the end of the lease, by the same path. Answers pending | dead (done, and
--   where it is now) | lost | busy for each, in order; never waits.
-- Parameters: p_ids, p_fences in step; p_errors, how the process died, null or in step.
-- Locks: those of hand_back.
-- Index: those of hand_back.
create or replace function emq.stall(p_ids uuid[], p_fences bigint[], p_errors text[] default null)
returns text[]
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  select emq.hand_back(
    'stall', array_fill('stalled'::text, array[coalesce(cardinality(p_ids), 0)]),
    p_ids, p_fences, null, p_errors)
$$;
revoke all on function emq.stall from public;
