-- Promise: the outcome of (id, fence) when it is final, else busy: an open transaction is about to
--   settle the job (one whose client saw its connection break may still be committing): ask again.
--   yours is final in this sense: no transaction that was open before can settle the job any more
--   without the holder's doing.
-- Parameters: p_id, p_fence.
-- Locks: FOR NO KEY UPDATE SKIP LOCKED on one ledger row: passes a guard, meets every verb.
-- Index: active_pk, then those of outcome.
create function emq.decided(p_id uuid, p_fence bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_outcome text;
begin
  perform 1 from emq.active a
    where a.id = p_id and a.fence = p_fence for no key update skip locked;
  if found then
    return 'yours';
  end if;
  v_outcome := emq.outcome(p_id, p_fence);
  return case when v_outcome = 'yours' then 'busy' else v_outcome end;
end $$;
revoke all on function emq.decided from public;
