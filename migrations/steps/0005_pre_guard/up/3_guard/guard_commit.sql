-- Promise: the guard as the last statement before COMMIT: like guard, but nothing is done and no lock
--   is taken when the transaction has written nothing. Answers nothing | guarded | settled (by this
--   very transaction). What is left to do is the commit, so the whole transaction may go on for the
--   lease and 10 s at least, where the server can bound that (transaction_timeout, PostgreSQL 17).
-- Parameters: p_id, p_fence.
-- Locks: as guard, or none.
-- Index: active_pk.
create function emq.guard_commit(p_id uuid, p_fence bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ms int;
begin
  if pg_current_xact_id_if_assigned() is null then
    return 'nothing';
  end if;
  v_ms := emq.hold(p_id, p_fence);
  if v_ms is null then
    return 'settled';
  end if;
  if current_setting('transaction_timeout', true) = '0' then
    perform set_config('transaction_timeout', v_ms::text, true);
  end if;
  return 'guarded';
end $$;
revoke all on function emq.guard_commit from public;
