-- Promise: the job that holds this key from here on: this one, or the one that held it before and still
--   counts. Of those who ask for a key at the same time one gets it, and the others wait for the end of
--   its transaction: rolled back, the key is free again.
-- Parameters: see enqueue_unique; p_until for the scope `until`.
-- Locks: the row of the key, when it is taken, to the end of the caller's transaction.
-- Index: unique_key_pk.
create function emq.take_key(p_key text, p_id uuid, p_scope text, p_until timestamptz) returns uuid
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v emq.unique_key;
begin
  loop
    insert into emq.unique_key (key, id, scope, until, look_at)
    values (p_key, p_id, p_scope, p_until, coalesce(p_until, clock_timestamp() + interval '1 h'))
    on conflict (key) do nothing;
    if found then
      return p_id;
    end if;
    select * into v from emq.unique_key u where u.key = p_key;
    if emq.holds_key(v.id, v.scope, v.until) then
      return v.id;
    end if;
    -- Whoever has taken it since, or takes it now, is another holder: then all is looked at again.
    update emq.unique_key u
       set id = p_id, scope = p_scope, until = p_until,
           look_at = coalesce(p_until, clock_timestamp() + interval '1 h')
     where u.key = p_key and u.id = v.id and u.until is not distinct from v.until;
    if found then
      return p_id;
    end if;
  end loop;
end $$;
revoke all on function emq.take_key from public;
