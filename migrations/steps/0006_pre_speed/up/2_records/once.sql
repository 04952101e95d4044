-- Promise: true for the first transaction that commits with this key, false for every other, whichever
--   job, attempt or worker asks: the effect that belongs to the key is then had once for as long as the
--   key is kept: for the ledger's inbox_retention from this call on, however long the transaction stays
--   open after it. Rolled back, the key is free again. Waits for an open transaction that has inserted
--   the same key, 5 s at most (55P03), or for as long as a shorter lock_timeout of the caller allows.
-- Parameters: p_key, 1 to 500 characters (EQ006); p_id and p_fence of the job, for the record.
-- Locks: the row of the key, to the end of the caller's transaction.
-- Index: inbox_pk.
-- Under REPEATABLE READ a key that was committed since the snapshot raises 40001 instead.
create or replace function emq.once(p_key text, p_id uuid, p_fence bigint) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wait text := current_setting('lock_timeout');
  v_first boolean;
begin
  if p_key is null or length(p_key) not between 1 and 500 then
    raise exception 'emq: a key of the inbox has % characters', coalesce(length(p_key), 0)
      using errcode = 'EQ006', hint = 'Give 1 to 500; a digest of what is longer will do.';
  end if;
  perform set_config('lock_timeout', '5s', true)
    where v_wait::interval = interval '0' or v_wait::interval > interval '5 s';
  insert into emq.inbox (key, id, fence) values (p_key, p_id, p_fence) on conflict (key) do nothing;
  v_first := found;
  perform set_config('lock_timeout', v_wait, true);
  return v_first;
end $$;
revoke all on function emq.once from public;
