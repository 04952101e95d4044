-- Promise: a day of attempts is dropped; those of some jobs go to the default partition in the same
--   transaction. Answers how many.
-- Parameters: p_name of the partition, one that days_of gave; p_kept, the ids of these jobs.
-- Locks: ACCESS EXCLUSIVE on emq.attempt, to the end of the transaction; waits 100 ms.
-- Index: attempt_id_idx of the partition.
create function emq.drop_attempts(p_name text, p_kept uuid[]) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_columns text := (select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
                       from pg_attribute a
                      where a.attrelid = 'emq.attempt'::regclass and a.attnum > 0
                        and not a.attisdropped);
  v_kept bigint;
begin
  execute format('alter table emq.attempt detach partition emq.%I', p_name);
  execute format('insert into emq.attempt (%s) select %s from emq.%I a where a.id = any ($1)',
                 v_columns, v_columns, p_name)
    using p_kept;
  get diagnostics v_kept = row_count;
  execute format('drop table emq.%I', p_name);
  delete from emq.tidying t where t.what = p_name;
  return v_kept;
end $$;
revoke all on function emq.drop_attempts from public;
