-- Promise: nobody holds this key any more, and the next enqueue with it adds its job; answers which job
--   held it, null when none did. That job is left alone. It is on record in emq.audit.
-- Parameters: p_key; p_label, for the record.
-- Locks: the row of the key; waits for a transaction that takes it just now, 5 s at most (55P03).
-- Index: unique_key_pk.
create function emq.release_key(p_key text, p_label text default null) returns uuid
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
  v_id uuid;
begin
  delete from emq.unique_key u where u.key = p_key returning u.id into v_id;
  if v_id is not null then
    insert into emq.audit (verb, id, label) values ('release_key', v_id, p_label);
  end if;
  return v_id;
end $$;
revoke all on function emq.release_key from public;
