-- Promise: from here on this session counts as waiting for jobs of these queues, and of no others,
--   until it parks anew or ends, however it ends. Who parks must listen already, and look into its
--   queues once more afterwards: who enqueued just before did not see it.
-- Parameters: p_queues; none: nobody waits here.
-- Locks: shared session-level advisory locks. It waits for ring_parked, which holds its own for no
--   longer than a statement. Not through a pooler in transaction mode, where LISTEN is deaf as well.
-- Index: none.
create function emq.park(p_queues text[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_want int[] := array(select distinct b.lock from emq.bell_locks(p_queues) b order by 1);
  v_have int[] := array(
    select l.objid::bigint::bit(32)::int from pg_locks l
     where l.locktype = 'advisory' and l.pid = pg_backend_pid() and l.classid = 7306
       and l.database = (select d.oid from pg_database d where d.datname = current_database()));
  v_lock int;
begin
  foreach v_lock in array v_have loop
    if v_lock <> all (v_want) then
      perform pg_advisory_unlock_shared(7306, v_lock);
    end if;
  end loop;
  foreach v_lock in array v_want loop
    if v_lock <> all (v_have) then
      perform pg_advisory_lock_shared(7306, v_lock);
    end if;
  end loop;
end $$;
revoke all on function emq.park from public;
