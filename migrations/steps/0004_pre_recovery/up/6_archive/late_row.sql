-- Promise: a row that comes to a day whose export was compared with it ends that comparison in the
--   writer's own transaction, so that they are compared again before one more row or envelope goes.
-- Parameters: none; a trigger of the partition, from the first comparison on.
-- Locks: the day's row in exported; a step of retention that has it makes the writer wait for its end.
-- Index: exported_pk.
create function emq.late_row() returns trigger
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update emq.exported e set compared = false
   where e.day = (new.finished_at at time zone 'UTC')::date;
  return null;
end $$;
revoke all on function emq.late_row from public;
