-- Promise: adds jobs of one queue, as enqueue_many does, each unless another job holds its unique key:
--   then that one's id is answered, with duplicate. However many producers ask at once, one job is added
--   for a key. It is never less than one: a key is taken in the transaction that adds its holder, and one
--   whose holder counts no more is taken over.
-- Parameters: arrays in step, as for enqueue_many. p_keys of 1 to 500 characters, for the whole ledger; a
--   null one is not unique. p_scopes: how long the job holds its key: `unfinished` (the default), while it
--   waits, runs or is between two runs; `waiting`, while no worker has it; `until`, for so long after now
--   as p_fors says (0 < p_for <= 1 year), whatever becomes of it. A job that came to `duplicate` under
--   `waiting` may begin before the caller's transaction ends (see enqueue_unless_waiting for one that may
--   not). A key twice in a call is a duplicate the second time.
-- Locks: the rows of the keys that are taken, in the order of the keys, to the end of the caller's
--   transaction; waited for at most 5 s (then 55P03).
-- Index: unique_key_pk, job_pk; those of holds_key.
-- Under REPEATABLE READ the snapshot may be older than what the holder has become, so that is refused.
create function emq.enqueue_unique(
  p_queue text, p_keys text[], p_ids uuid[], p_tasks text[], p_payloads jsonb[],
  p_scopes text[] default null, p_fors interval[] default null, p_priorities int[] default null,
  p_run_ats timestamptz[] default null, p_delays interval[] default null,
  p_max_attempts int[] default null, p_leases interval[] default null, p_headers jsonb[] default null,
  out ids uuid[], out statuses text[]
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  n int := cardinality(p_ids);
  v_known uuid[];
  v_new int[] := '{}';
  v_answers text[];
  v_key text;
  v_holder uuid;
  u record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'emq: enqueue_unique needs READ COMMITTED'
      using errcode = '25001', hint = 'What has become of the holder since would not be seen.';
  end if;
  if p_ids is null or p_keys is null or cardinality(p_keys) <> n or cardinality(p_tasks) <> n
     or cardinality(p_payloads) <> n or cardinality(p_scopes) <> n or cardinality(p_fors) <> n
     or cardinality(p_priorities) <> n or cardinality(p_run_ats) <> n or cardinality(p_delays) <> n
     or cardinality(p_max_attempts) <> n or cardinality(p_leases) <> n or cardinality(p_headers) <> n then
    raise exception 'emq: enqueue_unique was given arrays of different lengths'
      using errcode = 'EQ006', hint = 'Each array has one element for each id, or is null.';
  end if;
  if array_position(p_ids, null) is not null then
    perform emq.refuse_new(p_queue, p_ids);
  end if;
  for u in select * from unnest(p_keys, p_scopes, p_fors) as x (key, scope, span) loop
    if length(u.key) not between 1 and 500 then
      raise exception 'emq: a unique key has % characters', length(u.key)
        using errcode = 'EQ006', hint = 'Give 1 to 500; a digest of what is longer will do.';
    end if;
    if u.scope not in ('waiting', 'unfinished', 'until')
       or (coalesce(u.scope, '') = 'until') <> (u.span is not null)
       or not (u.span > interval '0' and u.span <= interval '1 year') then
      raise exception 'emq: a unique key cannot be held for that long'
        using errcode = 'EQ006', hint = 'p_scopes says waiting, unfinished or until; until needs '
                                        'an interval of p_fors of at most one year, and no other has one.';
    end if;
  end loop;

  -- A job that was added by a call whose reply was lost has perhaps ended, and the key is another's.
  select coalesce(array_agg(j.id), '{}') into v_known from emq.job j where j.id = any (p_ids);
  ids := array(select x from unnest(p_ids) x);  -- so that it begins at 1
  statuses := array_fill('duplicate'::text, array[n]);
  for u in
    select x.key, x.id, coalesce(x.scope, 'unfinished') as scope,
           clock_timestamp() + x.span as until, x.i::int as i
      from unnest(p_keys, p_ids, p_scopes, p_fors) with ordinality as x (key, id, scope, span, i)
     order by x.key, x.i
  loop
    if u.id = any (v_known) then
      continue;
    end if;
    if u.key is null then
      v_new := v_new || u.i;
    elsif u.key = v_key then  -- the holder may be added only below, and is not seen yet
      ids[u.i] := v_holder;
    else
      v_key := u.key;
      v_holder := emq.take_key(u.key, u.id, u.scope, u.until);
      ids[u.i] := v_holder;
      if v_holder = u.id then
        v_new := v_new || u.i;
      end if;
    end if;
  end loop;
  if v_new = '{}' then
    return;
  end if;

  v_new := array(select i from unnest(v_new) i order by i);  -- the line is in the order given
  select emq.enqueue_many(
           p_queue, array_agg(x.id order by x.i), array_agg(x.task order by x.i),
           array_agg(x.payload order by x.i), array_agg(x.priority order by x.i),
           case when p_run_ats is not null then array_agg(x.run_at order by x.i) end,
           case when p_delays is not null then array_agg(x.delay order by x.i) end,
           array_agg(x.max_attempts order by x.i), array_agg(x.lease order by x.i),
           array_agg(x.headers order by x.i))
    into v_answers
    from unnest(p_ids, p_tasks, p_payloads, p_priorities, p_run_ats, p_delays, p_max_attempts,
                p_leases, p_headers)
           with ordinality as x (id, task, payload, priority, run_at, delay, max_attempts, lease,
                                 headers, i)
   where x.i = any (v_new);
  for i in 1 .. cardinality(v_new) loop
    statuses[v_new[i]] := v_answers[i];
  end loop;
end $$;
revoke all on function emq.enqueue_unique from public;
