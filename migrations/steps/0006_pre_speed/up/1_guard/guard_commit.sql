-- Promise: the guard as the last statement before COMMIT: like guard, but nothing is done and no lock
--   is taken when the transaction has written nothing and has no cursor WITH HOLD, whose query runs in
--   the COMMIT and may write. Answers nothing | guarded | settled (by this very transaction).
--   What is left to do is the commit, so the whole transaction may go on for the lease and 10 s at
--   least, where the server can bound that (transaction_timeout, PostgreSQL 17).
-- Parameters: p_id, p_fence.
-- Locks: as guard, or none.
-- Index: active_pk.
-- What is read-only by now and has written before cannot be held (25006), as with guard.
create or replace function emq.guard_commit(p_id uuid, p_fence bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_lease_ms int;
begin
  if pg_current_xact_id_if_assigned() is null then
    perform from pg_cursor() c where c.is_holdable and c.creation_time >= transaction_timestamp();
    if not found or current_setting('transaction_read_only') = 'on' then
      return 'nothing';
    end if;
  end if;
  -- Nearly always the row is there and free; what hold does besides would double the cost.
  select a.lease_ms into v_lease_ms
    from emq.active a where a.id = p_id and a.fence = p_fence for key share skip locked;
  if v_lease_ms is null then
    v_lease_ms := emq.hold(p_id, p_fence);
    if v_lease_ms is null then
      return 'settled';
    end if;
  end if;
  -- As bound does, nearly always, without the call of another function.
  if current_setting('transaction_timeout', true) = '0' then
    perform set_config('transaction_timeout', greatest(v_lease_ms, 10000)::text, true);
  else
    perform emq.bound(v_lease_ms, true);
  end if;
  return 'guarded';
end $$;
revoke all on function emq.guard_commit from public;
