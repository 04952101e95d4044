-- Promise: one bounded step of retention, of the first kind that has something to do: days of the
--   archive that are older than the longest retention; rows of queues that keep less; dead letters
--   past their queue's dead_retention; days of attempts; records of refusals, late extensions and
--   operators; keys of the inbox; unique keys; rows outside the days. Idempotent; whoever dies in the
--   middle is followed by whoever calls next; cheap when there is nothing to do. Answers in `did`:
--     retired | dropped | deleted | discarded | visited    a step of `what`; call again at once
--     nothing                                              come again in a minute
--     busy      another session is at it, or a lock was not had (`what`): come again in a minute
--   `remaining` says how many rows of `what` are left, null when that is not known. What fails for
--   another reason is a warning, and busy: it stops none of the other kinds.
-- Parameters: p_limit rows a step. Each step in a transaction of its own, at READ COMMITTED (25001):
--   its locks last to the end of it.
-- Locks: a transaction-level advisory lock on this ledger, tried. Waits for table locks 300 ms at
--   most, and 100 ms for those that others would queue behind. No live row is touched but dead
--   letters, with SKIP LOCKED.
-- Index: those of its steps.
create or replace function emq.tidy(
  p_limit int default 2000, out did text, out what text, out remaining bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '300ms' set timezone = 'UTC'
as $$
declare
  v_kind text;
  v_busy text;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'emq: tidy needs READ COMMITTED'
      using errcode = '25001', hint = 'Call it in a transaction of its own.';
  end if;
  if not pg_try_advisory_xact_lock(7308, 'emq.tidying'::regclass::oid::int) then
    did := 'busy';
    return;
  end if;
  foreach v_kind in array array['days', 'queues', 'dead', 'attempts', 'records', 'inbox', 'keys', 'strays'] loop
    begin
      execute format('select t.* from emq.%I($1) t', 'tidy_' || v_kind)
        into did, what, remaining using greatest(p_limit, 1);
    exception
      when lock_not_available then
        did := 'busy';
        what := v_kind;
      when others then
        raise warning 'emq: retention cannot go on with the %: %', v_kind, sqlerrm
          using errcode = sqlstate;
        did := 'busy';
        what := format('%s: %s', v_kind, sqlerrm);
    end;
    if did <> 'busy' then
      return;
    end if;
    v_busy := coalesce(v_busy, case when did = 'busy' then what end);
  end loop;
  did := case when v_busy is null then 'nothing' else 'busy' end;
  what := v_busy;
  remaining := null;
end $$;
revoke all on function emq.tidy from public;
