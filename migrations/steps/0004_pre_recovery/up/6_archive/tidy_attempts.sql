-- Promise: one step of forgetting attempts that are older than the longest retention. Those of a job
--   that still has its envelope (a dead letter, one that waits for long) are kept whatever their age:
--   of the oldest such day, the others are deleted in id order; then what is left is moved to the
--   default partition and the day is dropped, in one transaction. A day of which more than ten steps'
--   worth is left stays as it is, and is looked at again a day later. In the default partition, a
--   pass a day deletes what has lost its envelope. Null when there is nothing.
-- Parameters: p_limit jobs visited.
-- Locks: SHARE on a closed day (300 ms); for the drop ACCESS EXCLUSIVE on the attempts (100 ms, since
--   whoever ends a claim without completion queues behind it), in a subtransaction.
-- Index: attempt_id_idx of the partition, job_pk. OFFSET 0 keeps the look-up of an envelope one by key.
create function emq.tidy_attempts(
  p_limit int, out did text, out what text, out remaining bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
set lock_timeout = '300ms'
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  v_kept_from timestamptz := emq.kept_from();
  v_n bigint;
  v_gone bigint;
  v_upto uuid;
  v_kept uuid[];
  s emq.tidying;
begin
  select p.name into what
    from emq.days_of('attempt') p
   where p.last <= v_kept_from and p.last <= clock_timestamp() - interval '1 hour'
     and not exists (select from emq.tidying t
                      where t.what = p.name and t.ended_at > clock_timestamp() - interval '1 day')
   order by p.day limit 1;
  if not found then
    if exists (select from emq.tidying t where t.what = 'attempt_default'
                       and t.ended_at > clock_timestamp() - interval '1 day')
       or not exists (select from emq.attempt_default a where a.ended_at < v_kept_from) then
      return;
    end if;
    what := 'attempt_default';
  end if;

  insert into emq.tidying as t (what) values (tidy_attempts.what)
  on conflict on constraint tidying_pk
     do update set ended_at = null, upto = case when t.ended_at is null then t.upto end
  returning * into s;
  execute format(
    'with c as materialized (
       select distinct a.id from emq.%I a where a.id > $1 order by a.id limit $2
     ), d as (
       delete from emq.%I a using c
        where a.id = any (array[c.id]) and a.ended_at < $3
          and not exists (select from emq.job j where j.id = a.id offset 0)
       returning 1
     )
     select count(*), (array_agg(c.id order by c.id desc))[1], (select count(*) from d) from c',
    what, what)
    into v_n, v_upto, v_gone
    using coalesce(s.upto, '00000000-0000-0000-0000-000000000000'), p_limit, v_kept_from;
  update emq.tidying t set upto = coalesce(v_upto, t.upto), gone = t.gone + v_gone
   where t.what = tidy_attempts.what;
  did := case when v_gone > 0 then 'deleted' else 'visited' end;
  if v_n = p_limit then
    return;
  end if;

  if what = 'attempt_default' then
    update emq.tidying t set upto = null, gone = 0, ended_at = clock_timestamp()
     where t.what = 'attempt_default';
    return;
  end if;
  begin
    execute format('lock table emq.%I in share mode', what);  -- whoever wrote it has ended
    execute format('select count(*) from (select from emq.%I limit $1) x', what)
      into v_n using 10 * p_limit + 1;
    if v_n > 10 * p_limit then
      update emq.tidying t set upto = null, gone = 0, ended_at = clock_timestamp()
       where t.what = tidy_attempts.what;
      return;
    end if;
    execute format(  -- before anybody waits for the drop
      'select array(select distinct a.id from emq.%I a
                     where exists (select from emq.job j where j.id = a.id offset 0))', what)
      into v_kept;
    v_n := emq.drop_attempts(what, v_kept);
    insert into emq.audit (verb, label, detail)
    values ('retire', 'retention', jsonb_build_object('attempts', what, 'kept', v_n));
    did := 'dropped';
    remaining := 0;
  exception when lock_not_available then
    if v_gone = 0 then
      did := 'busy';
    end if;
  end;
end $$;
revoke all on function emq.tidy_attempts from public;
