-- Promise: partitions of archive and attempt exist from the day before p_from to p_ahead days after
--   it. A day that cannot be attached now (a lock not had, rows of it in the default) is left out
--   and tried again by the next call: it stops neither maintain nor the other days. What forbids
--   DDL altogether (an event trigger, a right withdrawn) is a warning: recovery goes on, and rows
--   land in the defaults. Answers how many were made, negative (-1 - made) when one could not be.
-- Parameters: p_ahead days; p_from, today in UTC.
-- Locks: ACCESS EXCLUSIVE on the default partition for a moment, under a lock_timeout of 300 ms.
--   ATTACH, and not CREATE .. PARTITION OF, which takes it on the whole archive and would queue
--   every completion behind the oldest open one.
-- Index: none. Yesterday is made too, so that a look-up of a fresh id never reads the default.
create or replace function emq.archive_days(
  p_ahead int, p_from date default (now() at time zone 'utc')::date
) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '300ms' set timezone = 'UTC'
as $$
declare
  d date;
  v_n int := 0;
  v_failed boolean := false;
  v_t text;
  v_p text;
begin
  foreach v_p in array array['archive', 'attempt'] loop
    for i in -1..p_ahead loop
      d := p_from + i;
      v_t := v_p || '_' || to_char(d, 'YYYYMMDD');
      continue when to_regclass('emq.' || v_t) is not null;
      begin
        execute format(
          'create table emq.%I (like emq.%I including defaults including constraints)', v_t, v_p);
        execute format('alter table emq.%I replica identity full', v_t);  -- retention deletes from it
        execute format('create index %I on emq.%I (id)', v_t || '_id_idx', v_t);
        execute format('alter table emq.%I attach partition emq.%I for values from (%L) to (%L)',
                       v_p, v_t, d::timestamptz, (d + 1)::timestamptz);
        v_n := v_n + 1;
      exception
        when lock_not_available then return -1 - v_n;
        when check_violation then null;
        when others then
          if not v_failed then  -- once a call: where DDL is forbidden it is the same for each
            raise warning 'emq: the partition % could not be made: %', v_t, sqlerrm
              using errcode = sqlstate;
          end if;
          v_failed := true;
      end;
    end loop;
  end loop;
  return case when v_failed then -1 - v_n else v_n end;
end $$;
revoke all on function emq.archive_days from public;
