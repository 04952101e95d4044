-- Promise: retry, snooze and release as they have always been called, by the one path of hand_back.
-- Parameters: p_verb retry | snooze | release; p_ids, p_fences in step; p_delays, p_errors null or in
--   step.
-- Locks: those of hand_back.
-- Index: those of hand_back.
create or replace function emq.put_back(
  p_verb text, p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[]
) returns text[]
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  select emq.hand_back(
    p_verb, array_fill(case p_verb when 'retry' then 'exception' else p_verb end,
                       array[coalesce(cardinality(p_ids), 0)]),
    p_ids, p_fences, p_delays, p_errors)
$$;
revoke all on function emq.put_back from public;
