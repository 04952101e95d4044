-- Promise: a client that is frozen from here on does not keep the job for ever: its transaction ends
--   when it has idled for the lease, and 10 s at least. With p_last, when nothing but the commit is to
--   come, the rest of the transaction as a whole is bounded so, where the server can (transaction_timeout,
--   PostgreSQL 17), unless the application has bounded it already. A shorter limit that is set stays.
-- Parameters: p_lease_ms; p_last.
-- Locks: none.
-- Index: none.
create function emq.bound(p_lease_ms int, p_last boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ms int := greatest(p_lease_ms, 10000);
  v_idle text;
begin
  if p_last and current_setting('transaction_timeout', true) = '0' then
    perform set_config('transaction_timeout', v_ms::text, true);
    return;
  end if;
  v_idle := current_setting('idle_in_transaction_session_timeout');
  if v_idle = '0' or v_idle::interval > v_ms * interval '1 ms' then
    perform set_config('idle_in_transaction_session_timeout', v_ms::text, true);
  end if;
end $$;
revoke all on function emq.bound from public;
