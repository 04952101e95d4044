-- Promise: a row that comes to a day whose export was compared with it ends that comparison in the
--   writer's own transaction, so that retire compares again before it deletes one more envelope.
-- Parameters: none; a trigger of the partition, from the first step of its retiring.
-- Locks: the day's row in retiring; a step that has it makes the writer wait for its end.
-- Index: retiring_pk.
create function emq.late_row() returns trigger
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from emq.retiring r where r.day = (new.finished_at at time zone 'UTC')::date;
  return null;
end $$;
revoke all on function emq.late_row from public;
