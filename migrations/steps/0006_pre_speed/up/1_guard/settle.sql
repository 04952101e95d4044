-- Promise: ends the run in the caller's transaction, with its effects: complete, retry or snooze, as the
--   verbs of these names do. Answers done (completed, or settled by this very transaction before) |
--   pending | scheduled | dead (put back, and where it is now) | busy (another transaction holds the
--   row: ask again; nothing was done). A stale fence raises EQ001, and one that another transaction has
--   settled EQ007, as guard does. The transaction can then only be rolled back, unless the error was
--   caught within it, by a savepoint or a block with EXCEPTION: then it goes on, and may commit, if
--   guard_commit is not asked. Never waits.
--   A holder that is frozen from here on does not keep the job for ever: the session may idle in this
--   transaction for the lease, and 10 s at least. With p_last, when nothing but the commit is to come,
--   the rest of the transaction is bounded as well (transaction_timeout, PostgreSQL 17). A shorter limit
--   that is set stays.
-- Parameters: p_id, p_fence; p_verb complete | retry | snooze (another is refused, EQ006); p_last;
--   p_result of complete; p_delay of the others; p_error of retry.
-- Locks: FOR UPDATE SKIP LOCKED on one ledger row, then those of the verb.
-- Index: active_pk, then those of the verb; of a stale fence those of end_of.
-- Under REPEATABLE READ a job that was extended or taken away since the snapshot raises 40001.
create or replace function emq.settle(
  p_id uuid, p_fence bigint, p_verb text, p_last boolean,
  p_result jsonb default null, p_delay interval default null, p_error text default null
) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_lease_ms int;
begin
  if p_verb is null or p_verb not in ('complete', 'retry', 'snooze') then
    raise exception 'emq: settle: the verb % is none', coalesce(quote_literal(p_verb), 'null')
      using errcode = 'EQ006', hint = 'complete, retry or snooze.';
  end if;
  select a.lease_ms into v_lease_ms
    from emq.active a where a.id = p_id and a.fence = p_fence for update skip locked;
  if not found then
    perform 1 from emq.active a where a.id = p_id and a.fence = p_fence;
    if found then
      return 'busy';
    end if;
    perform emq.hold(p_id, p_fence);
    return 'done';
  end if;
  perform emq.bound(v_lease_ms, p_last);
  if p_verb = 'complete' then
    return (emq.complete(array[p_id], array[p_fence], array[p_result]))[1];
  end if;
  return (emq.put_back(p_verb, array[p_id], array[p_fence], array[p_delay], array[p_error]))[1];
end $$;
revoke all on function emq.settle from public;
