-- Promise: adds one job, as enqueue does, unless one of this task waits in the queue already: then that
--   one's id is answered, with duplicate. However many producers ask at once, one job is added. And the
--   job that waits begins only after the caller's transaction has ended: its run sees what that wrote.
--   A job that runs does not count: it may have read already what the new one is for. Nor can it be
--   kept from coming back, so beside the one added there may be one that was given back.
-- Parameters: those of enqueue.
-- Locks: an advisory lock of this task and queue to the end of the caller's transaction, waited for at
--   most 5 s (then 55P03); FOR KEY SHARE on the row that waits.
-- Index: pending_pk, job_pk, scheduled_pk from promote's published floor: the line of the queue is
--   walked to the first job of this task, and the schedule too. Not for a queue in which thousands of
--   other jobs wait.
-- Under REPEATABLE READ the snapshot is older than the lock, so that is refused.
create function emq.enqueue_unless_waiting(
  p_queue text, p_task text, p_payload jsonb, p_id uuid default null, p_priority int default 2,
  p_run_at timestamptz default null, p_delay interval default null,
  p_max_attempts int default null, p_lease interval default null, p_headers jsonb default null,
  out id uuid, out status text
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_from timestamptz;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'emq: enqueue_unless_waiting needs READ COMMITTED'
      using errcode = '25001', hint = 'What others have added since would not be seen.';
  end if;
  perform pg_advisory_xact_lock(
    7309, hashtext(concat_ws('/', 'emq.settled'::regclass::oid, p_queue, p_task)));
  select p.id into id
    from emq.pending p
   where p.queue = p_queue
     and (select j.task from emq.job j where j.id = p.id) = p_task
   order by p.rank, p.ord limit 1
   for key share of p skip locked;
  if id is null then
    v_from := coalesce((select case when s.t > clock_timestamp() then '-infinity' else s.promote_from end
                          from emq.settled s order by s.n desc limit 1), '-infinity');
    select s.id into id
      from emq.scheduled s
     where s.queue = p_queue and s.run_at >= v_from
       and (select j.task from emq.job j where j.id = s.id) = p_task
     order by s.run_at, s.id limit 1
     for key share of s skip locked;
  end if;
  if id is not null then
    status := 'duplicate';
    return;
  end if;
  select e.id, e.status into id, status
    from emq.enqueue(p_queue, p_task, p_payload, p_id, p_priority, p_run_at, p_delay,
                     p_max_attempts, p_lease, p_headers) e;
end $$;
revoke all on function emq.enqueue_unless_waiting from public;
