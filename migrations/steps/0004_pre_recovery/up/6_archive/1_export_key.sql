-- Promise: the number under which the exporter of a day holds its advisory lock (7307, number); the
--   same in each session, another one for each ledger of a database.
-- Parameters: p_day.
-- Locks: none.
-- Index: none.
create function emq.export_key(p_day date) returns int
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select hashtext(format('%s %s', 'emq.exported'::regclass::oid, p_day - date '2000-01-01'))
$$;
revoke all on function emq.export_key from public;
