-- Promise: true for the first transaction that commits with this key, false for every other, whichever
--   job, attempt or worker asks: the effect that belongs to the key is then had once for as long as the
--   key is kept (the ledger's inbox_retention). Rolled back, the key is free again. Waits, 5 s at most
--   (55P03), for an open transaction that has inserted the same key.
-- Parameters: p_key, 1 to 500 characters (EQ006); p_id and p_fence of the job, for the record.
-- Locks: the row of the key, to the end of the caller's transaction.
-- Index: inbox_pk.
-- Under REPEATABLE READ a key that was committed since the snapshot raises 40001 instead.
create function emq.once(p_key text, p_id uuid, p_fence bigint) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
begin
  if p_key is null or length(p_key) not between 1 and 500 then
    raise exception 'emq: a key of the inbox has % characters', coalesce(length(p_key), 0)
      using errcode = 'EQ006', hint = 'Give 1 to 500; a digest of what is longer will do.';
  end if;
  insert into emq.inbox (key, id, fence) values (p_key, p_id, p_fence) on conflict (key) do nothing;
  return found;
end $$;
revoke all on function emq.once from public;
