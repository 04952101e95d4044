-- Promise: an attempt has failed: the job waits for its delay and is tried again, or is a dead
--   letter when stalled + failures reach max_attempts. Answers pending | scheduled | dead | lost |
--   busy for each, in order.
-- Parameters: p_ids, p_fences in step; p_delays and p_errors null or in step.
-- Locks: those of put_back.
-- Index: those of put_back.
create function emq.retry(p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[])
returns text[]
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$ select emq.put_back('retry', p_ids, p_fences, p_delays, p_errors) $$;
