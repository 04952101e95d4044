-- Promise: the job waits for its delay and is tried again; no budget is used.
-- Parameters: p_ids, p_fences, p_delays in step.
-- Locks: those of put_back.
-- Index: those of put_back.
create function emq.snooze(p_ids uuid[], p_fences bigint[], p_delays interval[])
returns text[]
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$ select emq.put_back('snooze', p_ids, p_fences, p_delays, null) $$;
