-- Promise: which ledger this is, wherever it was copied to: what an engine is recognised by.
-- Parameters: none.
-- Locks: none.
-- Index: none (one row).
create function emq.ledger_id() returns uuid
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select m.ledger_id from emq.meta m $$;
revoke all on function emq.ledger_id from public;
