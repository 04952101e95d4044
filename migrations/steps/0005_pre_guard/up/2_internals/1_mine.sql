-- Promise: whether a row that this transaction sees was written by this transaction, in a savepoint of
--   it or outside: nobody else's row is seen before its commit, so one whose writer still runs is ours.
-- Parameters: p_xmin, the row's xmin.
-- Locks: none.
-- Index: none.
-- xmin has 32 bits; the other half is that of the own xid, or its neighbour's.
create function emq.mine(p_xmin xid) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_own bigint := pg_current_xact_id_if_assigned()::text::bigint;
  v_apart bigint;
begin
  if v_own is null then
    return false;
  end if;
  v_apart := (p_xmin::text::bigint - v_own) & 4294967295;
  if v_apart > 2147483647 then
    v_apart := v_apart - 4294967296;
  end if;
  return v_own + v_apart > 2
     and coalesce(pg_xact_status((v_own + v_apart)::text::xid8) = 'in progress', false);
end $$;
revoke all on function emq.mine from public;
