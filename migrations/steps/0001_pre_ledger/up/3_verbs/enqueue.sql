-- Promise: adds one job in the caller's transaction: it exists if and only when that commits.
--   Answers its id and enqueued | scheduled | duplicate (a job of this id lives, or has ended and
--   is not retired yet: nothing is added).
-- Parameters: p_queue; p_task; p_payload, an object; p_id a UUIDv7, minted here when null;
--   p_priority 0 (first) to 4; p_run_at, or p_delay on the server's clock; p_max_attempts and
--   p_lease, the queue's when null; p_headers, an object.
-- Locks: none but those of its own inserts. A repeat of an uncommitted id waits for its first
--   enqueue to end.
-- Index: job_pk (on conflict).
-- The clock is compared inside the insert: the table lock that it holds is what settles
-- scheduled.run_at for promote's floor (see maintain.sql).
create function emq.enqueue(
  p_queue text, p_task text, p_payload jsonb, p_id uuid default null, p_priority int default 2,
  p_run_at timestamptz default null, p_delay interval default null,
  p_max_attempts int default null, p_lease interval default null, p_headers jsonb default null,
  out id uuid, out status text
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_at timestamptz;
  v_lease_ms int := (extract(epoch from p_lease) * 1000)::int;
begin
  if p_id is null then
    id := emq.uuid7();
  else
    id := p_id;
    v_at := emq.id_time(p_id);
  end if;
  if p_queue is null or p_queue !~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'
     or p_id is not null and (v_at is null or v_at > clock_timestamp() + interval '1 day') then
    perform emq.refuse_new(p_queue, array[id]);
  end if;

  insert into emq.job (id, queue, priority, max_attempts, lease_ms, task, payload, headers)
  values (enqueue.id, p_queue, p_priority, p_max_attempts, v_lease_ms, p_task, p_payload, p_headers)
  on conflict on constraint job_pk do nothing;
  if not found then
    status := 'duplicate';
    return;
  end if;

  if p_run_at is not null or p_delay is not null then
    insert into emq.scheduled (run_at, id, queue, rank, lease_ms)
    select w.at, enqueue.id, p_queue, p_priority * 2 + 1, v_lease_ms
      from (select coalesce(p_run_at, clock_timestamp() + p_delay) as at offset 0) w
     where w.at > clock_timestamp();
    if found then
      status := 'scheduled';
      return;
    end if;
  end if;
  insert into emq.pending (id, queue, rank, lease_ms)
  values (enqueue.id, p_queue, p_priority * 2 + 1, v_lease_ms);
  status := 'enqueued';
end $$;
