-- Promise: nothing is left of these jobs but their places, which the caller has taken: no envelope, no
--   archive row, no attempt, refusal, late extension, key of the inbox or unique key (files of an export
--   are not touched). What a key kept from happening twice may happen again. Answers how many there
--   were.
-- Parameters: p_ids, jobs whose places in the hot tables are gone in this transaction.
-- Locks: its own deletes, and the records of exported days; ROW EXCLUSIVE on the partitions from a
--   day before the oldest id on, and on no others (EXECUTE plans at each call, see archived.sql).
-- Index: archive_id_idx and attempt_id_idx of those partitions, refusal_id_idx, late_id_idx, inbox_id_idx,
--   unique_key_id_idx, job_pk. A unique key that an enqueue takes over just now is that one's.
create or replace function emq.erase(p_ids uuid[]) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  v_from timestamptz;
  n int;
begin
  if p_ids is null then
    return 0;
  end if;
  select min(emq.id_time(u)) - interval '1 day' into v_from from unnest(p_ids) u;
  execute
    'with d as (
       delete from emq.archive x where x.id = any ($1) and x.finished_at >= $2 returning x.finished_at
     )
     update emq.exported e set removed = e.removed + k.n  -- their rows stay in the files
       from (select (d.finished_at at time zone ''UTC'')::date as day, count(*) as n
               from d group by 1) k
      where e.day = k.day'
    using p_ids, v_from;
  execute 'delete from emq.attempt x where x.id = any ($1) and x.ended_at >= $2'
    using p_ids, v_from;
  delete from emq.refusal x where x.id = any (p_ids);
  delete from emq.late x where x.id = any (p_ids);
  delete from emq.inbox x where x.id = any (p_ids);
  delete from emq.unique_key x using (
    select u.key from emq.unique_key u where u.id = any (p_ids) for update skip locked) k
   where x.key = k.key;
  delete from emq.job x where x.id = any (p_ids);
  get diagnostics n = row_count;
  return n;
end $$;
revoke all on function emq.erase from public;
