-- Promise: the session that took up the export of a day lets go of it.
-- Parameters: p_day.
-- Locks: releases the day's advisory lock.
-- Index: none.
create function emq.export_end(p_day date) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_advisory_unlock(7307, emq.export_key(p_day));
end $$;
revoke all on function emq.export_end from public;
