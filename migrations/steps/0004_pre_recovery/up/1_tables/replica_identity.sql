-- Holds: nothing new. Rows of these tables are deleted by retention now. Without a way to name a row a
-- publication of all tables would make each such delete fail, and they have no key.
-- Locks: ACCESS EXCLUSIVE on each for an instant.
do $do$
declare
  t regclass;
begin
  foreach t in array array['emq.audit', 'emq.refusal']::regclass[]
    || array(select i.inhrelid::regclass from pg_inherits i
              where i.inhparent in ('emq.archive'::regclass, 'emq.attempt'::regclass) order by 1)
  loop
    execute format('alter table %s replica identity full', t);
  end loop;
end $do$;
