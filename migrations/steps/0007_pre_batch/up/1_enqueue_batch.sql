-- Promise: adds new jobs of one task to one queue in the caller's transaction, in the order given, all due
--   now: all of them, or none and an error. For ids that the caller has just minted: where enqueue_many
--   answers `duplicate`, one that exists already (or comes twice) is an error here (23505), for a job of
--   somebody else's must not pass for this one.
-- Parameters: p_ids, UUIDv7s; p_payloads, one array of as many objects, in step; the rest holds for each
--   job (see enqueue.sql).
-- Locks: none but those of its own inserts. A repeat of an uncommitted id waits for its first enqueue to end.
-- Index: job_pk (unique).
-- Against enqueue_many: one document is parsed instead of an array of them, and a plain insert writes
-- one record of WAL less for each row than one with `on conflict`.
create function emq.enqueue_batch(
  p_queue text, p_task text, p_ids uuid[], p_payloads jsonb, p_priority int default 2,
  p_max_attempts int default null, p_lease interval default null, p_headers jsonb default null
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_lease_ms int := (extract(epoch from p_lease) * 1000)::int;
  v_tomorrow uuid := (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint + 86400000), 12, '0')
                      || '70000000000000000000')::uuid;
begin
  if jsonb_typeof(p_payloads) is distinct from 'array' or p_ids is null
     or jsonb_array_length(p_payloads) <> cardinality(p_ids) then
    raise exception 'emq: enqueue_batch was given ids and payloads of different lengths'
      using errcode = 'EQ006', hint = 'p_payloads is an array with one object for each id.';
  end if;
  if p_queue is null or p_queue !~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'
     or (select not bool_and(u is not null and get_byte(uuid_send(u), 6) >> 4 = 7 and u < v_tomorrow)
           from unnest(p_ids) u) then
    perform emq.refuse_new(p_queue, p_ids);
  end if;

  insert into emq.job (id, queue, priority, max_attempts, lease_ms, task, payload, headers)
  select u.id, p_queue, p_priority, p_max_attempts, v_lease_ms, p_task, u.payload, p_headers
    from rows from (unnest(p_ids), jsonb_array_elements(p_payloads)) as u (id, payload);

  -- A function in FROM answers in order, and so do the places in line that the rows take.
  insert into emq.pending (id, queue, rank, lease_ms)
  select u.id, p_queue, p_priority * 2 + 1, v_lease_ms from unnest(p_ids) as u (id);
end $$;
revoke all on function emq.enqueue_batch from public;
