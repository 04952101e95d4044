-- Promise: who holds this key: the job, how long it counts, and whether it does now; no row when nobody
--   has taken it, or tidy has forgotten it since.
-- Parameters: p_key.
-- Locks: none.
-- Index: unique_key_pk; those of holds_key.
create function emq.key_holder(p_key text)
returns table (id uuid, scope text, until timestamptz, counts boolean)
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  select u.id, u.scope, u.until, emq.holds_key(u.id, u.scope, u.until)
    from emq.unique_key u where u.key = p_key
$$;
revoke all on function emq.key_holder from public;
