-- Promise: takes back one expired lease, counted; used by sweep only, when a batch has raised.
-- Parameters: p_id, p_fence of the row (locked by the caller); p_max_stalled null for the queue's.
-- Locks: the row is locked already.
-- Index: active_pk.
create or replace function emq.reap_one(p_id uuid, p_fence bigint, p_max_stalled int) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_run emq.active;
begin
  delete from emq.active x where x.id = p_id and x.fence = p_fence returning x.* into v_run;
  return (emq.end_runs(array[v_run], array['stalled'], p_max_stalled => p_max_stalled))[1];
end $$;
revoke all on function emq.reap_one from public;
