-- Promise: one step of a pass through the archive rows that lie in no day, because no upkeep ran when
--   they were written: those past the retention of their queue and kind are deleted, with their
--   envelopes. A pass a day. They are in no export, so where that comes first they stay. Null when
--   there is nothing.
-- Parameters: p_limit rows visited.
-- Locks: the rows deleted.
-- Index: archive_default_id_idx, job_pk. As in retire: an id may live again.
create function emq.tidy_strays(
  p_limit int, out did text, out what text, out remaining bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  v_closed timestamptz := clock_timestamp() - interval '1 hour';
  v_kept timestamptz;
  v_n bigint;
  v_gone bigint;
  v_upto uuid;
  s emq.tidying;
begin
  perform from emq.archive_default limit 1;
  if not found or (select m.export_first from emq.meta m)
     or exists (select from emq.tidying t where t.what = 'archive_default'
                                  and t.ended_at > clock_timestamp() - interval '1 day') then
    return;
  end if;
  what := 'archive_default';
  select emq.ago(m.retention) into v_kept from emq.meta m;
  insert into emq.tidying as t (what) values ('archive_default')
  on conflict on constraint tidying_pk
     do update set ended_at = null, upto = case when t.ended_at is null then t.upto end
  returning * into s;
  with c as materialized (
    select a.ctid as c, a.id, a.finished_at, a.queue, a.status = 'completed' as completed
      from emq.archive_default a
     where a.id > coalesce(s.upto, '00000000-0000-0000-0000-000000000000') order by a.id limit p_limit
  ), m as materialized (
    select c.* from c
      left join lateral (select emq.ago(case when c.completed then y.retention
                                             else y.cancelled_retention end) as before
                           from emq.queue y where y.name = c.queue offset 0) q on true
     where c.finished_at < least(coalesce(q.before, v_kept), v_closed)
  ), d as (
    delete from emq.archive_default a using m where a.ctid = m.c
  ), j as (
    delete from emq.job y using m
     where y.id = any (array[m.id]) and y.enqueued_at < m.finished_at + interval '1 h'
  )
  select count(*), (array_agg(c.id order by c.id desc))[1], (select count(*) from m)
    into v_n, v_upto, v_gone
    from c;
  update emq.tidying t
     set upto = case when v_n = p_limit then v_upto end, gone = t.gone + v_gone,
         ended_at = case when v_n < p_limit then clock_timestamp() end
   where t.what = 'archive_default';
  did := case when v_gone > 0 then 'deleted' else 'visited' end;
end $$;
revoke all on function emq.tidy_strays from public;
