-- Promise: from here to the end of the caller's transaction the ownership of the job cannot change;
--   raises EQ001 when the fence is stale already. Extensions pass, reap and claim step over, the
--   other verbs answer busy.
-- Parameters: p_id, p_fence.
-- Locks: FOR KEY SHARE on one ledger row (the caller's transaction takes an xid).
-- Index: active_pk.
-- Under REPEATABLE READ a job that was reaped since the snapshot raises 40001 instead.
create function emq.guard(p_id uuid, p_fence bigint) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  perform 1 from emq.active a where a.id = p_id and a.fence = p_fence for key share;
  if not found then
    raise exception 'emq: the lease of job % is lost', p_id
      using errcode = 'EQ001',
            hint = 'Another worker holds or has finished this job: roll back.';
  end if;
end $$;
