-- Promise: one bounded step of retention; call it in a transaction of its own, again until it answers
--   nothing or busy, and then about once a minute. Idempotent, and cheap when there is nothing.
-- Parameters: p_limit rows a step.
-- Locks: a transaction-level advisory lock on this ledger, tried.
-- Index: none yet.
create function emq.tidy(
  p_limit int default 2000, out did text, out what text, out remaining bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  did := 'nothing';
end $$;
revoke all on function emq.tidy from public;
