-- Promise: one step of shorter retentions: archive rows of queues whose completed jobs, or those that
--   were cancelled or discarded, are kept for less than the longest are deleted, with their
--   envelopes, from days that are over and wholly past that retention. So a row is kept as long as
--   its queue says, and for a day and an hour more at most. Each day is visited once for all queues
--   that are due at the time. Of a day that is to be exported nothing goes before. Null when there
--   is nothing, or when the oldest day that is due may not be touched yet.
-- Parameters: p_limit rows visited.
-- Locks: the rows deleted, in closed days; those of export_stands.
-- Index: archive_id_idx of the day, job_pk. Rows of the archive are never updated, so a delete by
--   ctid is right here.
-- `tidied` says for each queue and kind up to which day it is done, so no day is visited again when
-- nothing is due. A retention that was changed takes its queue out of the visit that is going on, and
-- a queue that says nothing any more makes '*' as little done as it was itself. A row that comes to a
-- closed day after the visit stays until its whole day goes.
-- As in retire: an id that was retired may live again, and its envelope is younger than the row.
create function emq.tidy_queues(
  p_limit int, out did text, out what text, out remaining bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  v_kept_from timestamptz := emq.kept_from();
  v_day date;
  v_first boolean := false;
  v_stands text;
  v_n bigint;
  v_gone bigint;
  v_upto uuid;
  s emq.tidying;
begin
  if not emq.tidy_marks(v_kept_from) then
    return;
  end if;
  loop
    select min(t.day) into v_day from emq.tidied t;
    if v_day is null then
      v_first := true;
      with t as materialized (
        select x.through, emq.ago(x.retention) as before from emq.tidied x
      )
      select min(p.day) into v_day
        from emq.days_of('archive') p
       where p.last > v_kept_from and p.last <= clock_timestamp() - interval '1 hour'
         and exists (select from t where t.through < p.day and t.before >= p.last
                                     and t.before > v_kept_from);
      if v_day is null then
        return;
      end if;
    end if;
    what := 'archive_' || to_char(v_day, 'YYYYMMDD');
    exit when to_regclass('emq.' || what) is not null;
    update emq.tidied t set through = v_day, day = null where t.day = v_day;  -- it has been dropped
  end loop;

  select t.* into s from emq.tidying t where t.what = tidy_queues.what;
  if s.ended_at > clock_timestamp() - interval '10 min' then
    return;
  end if;
  v_stands := emq.export_stands(v_day);
  if v_stands <> 'yes' then
    if v_stands <> 'busy' then  -- it may have counted the rows, so not again at once
      insert into emq.tidying (what, ended_at) values (tidy_queues.what, clock_timestamp())
      on conflict on constraint tidying_pk do update set ended_at = excluded.ended_at;
    end if;
    return;
  end if;
  if v_first then
    update emq.tidied t set day = v_day
     where t.through < v_day and emq.ago(t.retention) >= (v_day + 1)::timestamptz
       and emq.ago(t.retention) > v_kept_from;
    delete from emq.tidying t where t.what ~ '^archive_\d';  -- a visit that was given up counts not
    insert into emq.tidying (what) values (tidy_queues.what) returning * into s;
  end if;

  execute format(
    'with c as materialized (
       select a.ctid as c, a.id, a.finished_at, a.queue, a.status = ''completed'' as completed
         from emq.%I a where a.id > $1 order by a.id limit $2
     ), m as materialized (
       select c.* from c
         left join lateral (select case when c.completed then y.retention
                                        else y.cancelled_retention end as own
                              from emq.queue y where y.name = c.queue offset 0) q on true
        where exists (select from emq.tidied t
                       where t.day = $3 and t.completed = c.completed
                         and t.queue = case when q.own is null then ''*'' else c.queue end)
     ), d as (
       delete from emq.%I a using m where a.ctid = m.c
     ), j as (
       delete from emq.job y using m
        where y.id = any (array[m.id]) and y.enqueued_at < m.finished_at + interval ''1 h''
     )
     select count(*), (array_agg(c.id order by c.id desc))[1], (select count(*) from m) from c',
    what, what)
    into v_n, v_upto, v_gone
    using coalesce(s.upto, '00000000-0000-0000-0000-000000000000'), p_limit, v_day;
  update emq.exported x set removed = x.removed + v_gone where x.day = v_day and v_gone > 0;
  update emq.tidying t set upto = coalesce(v_upto, t.upto), gone = t.gone + v_gone, ended_at = null
   where t.what = tidy_queues.what returning * into s;
  did := case when v_gone > 0 then 'deleted' else 'visited' end;
  if v_n < p_limit then
    delete from emq.tidying t where t.what = tidy_queues.what;
    update emq.tidied t set through = v_day, day = null where t.day = v_day;
    if s.gone > 0 then
      insert into emq.audit (verb, label, detail)
      values ('tidy', 'retention', jsonb_build_object('day', v_day, 'rows', s.gone));
    end if;
  end if;
end $$;
revoke all on function emq.tidy_queues from public;
