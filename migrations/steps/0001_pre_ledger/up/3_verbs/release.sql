-- Promise: the job goes back to the head of its level at once; no budget is used. What an orderly
--   shutdown does with the jobs it cannot finish.
-- Parameters: p_ids, p_fences in step.
-- Locks: those of put_back.
-- Index: those of put_back.
create function emq.release(p_ids uuid[], p_fences bigint[])
returns text[]
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$ select emq.put_back('release', p_ids, p_fences, null, null) $$;
