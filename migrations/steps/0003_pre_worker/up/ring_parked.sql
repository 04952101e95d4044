-- Promise: wakes the workers that wait for one of these queues, if there are any; answers the queues
--   rung for. A hint: a worker that misses it finds the job at its next poll.
-- Parameters: p_queues, those that jobs were added to.
-- Locks: nobody parked: an advisory lock, tried and given back at once. Else NOTIFY, which takes one
--   lock of the whole cluster through the commit: call it after the commit of the enqueue, in a
--   transaction of its own, for many jobs together.
-- Index: none.
-- Two that ring at the same moment may each take the other for a parked worker: a hint too many.
create function emq.ring_parked(p_queues text[]) returns text[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  b record;
  v_rung text[] := '{}';
begin
  for b in select distinct x.queue, x.lock from emq.bell_locks(p_queues) x loop
    if pg_try_advisory_lock(7306, b.lock) then
      perform pg_advisory_unlock(7306, b.lock);
    else
      perform pg_notify('emq.ring', b.queue);
      v_rung := v_rung || b.queue;
    end if;
  end loop;
  return v_rung;
end $$;
revoke all on function emq.ring_parked from public;
