-- Promise: where this database is: the identifier of the server's data directory, which a restored dump
--   and pg_upgrade change, and the number of the database in it. Null where the server does not let the
--   ledger's owner ask (pg_control_system). A physical copy has the same.
-- Parameters: none.
-- Locks: none.
-- Index: none.
create function emq.here() returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select c.system_identifier || '/' || d.oid
            from pg_control_system() c, pg_database d
           where d.datname = current_database());
exception when insufficient_privilege or undefined_function or feature_not_supported then
  return null;
end $$;
revoke all on function emq.here from public;
