-- Promise: from here to the end of the caller's transaction the ownership of the job cannot change;
--   raises EQ001 when the fence is stale already, EQ007 when the job was settled under it by another
--   transaction; a transaction that has settled it itself passes. After an error the transaction can
--   only be rolled back, unless that was caught within it (see settle). Extensions pass, reap and claim
--   step over, the other verbs answer busy. From here on the session may idle in this transaction for
--   the lease, and 10 s at least (SET LOCAL idle_in_transaction_session_timeout).
-- Parameters: p_id, p_fence.
-- Locks: FOR KEY SHARE on one ledger row (the caller's transaction takes an xid).
-- Index: active_pk.
-- A transaction that is read-only can hold nothing (25006).
-- Under REPEATABLE READ a job that was taken away since the snapshot raises 40001 instead.
create or replace function emq.guard(p_id uuid, p_fence bigint) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_lease_ms int := emq.hold(p_id, p_fence);
begin
  if v_lease_ms is not null then
    perform emq.bound(v_lease_ms, false);
  end if;
end $$;
revoke all on function emq.guard from public;
