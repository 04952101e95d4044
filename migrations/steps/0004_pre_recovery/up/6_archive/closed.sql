-- Promise: whether a day can still get a row of the archive: open (it is not over by an hour), held
--   (transactions that began before its end go on, and may have read the clock before midnight;
--   held_by names them where they can be known; ask again), closed (no row can come any more, short of
--   a clock that goes back). Each in a transaction of its own, or it holds the day itself.
-- Parameters: p_day in UTC.
-- Locks: the row of the day in day_end, on its first call.
-- Index: day_end_pk.
-- Exact, because each writer of the archive has its transaction id before it reads the clock: complete,
-- cancel and discard read it for a row that they have deleted. So an id taken after the end of the day
-- is above those of all who wrote for it, and when every transaction up to it has ended, so have they.
-- An id that this server has not come to is one of another server, where the table was copied from.
create function emq.closed(p_day date, out status text, out held_by text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
declare
  v_xid xid8;
begin
  status := 'open';
  if clock_timestamp() < (p_day + 1)::timestamptz + interval '1 hour' then
    return;
  end if;
  status := 'held';
  select d.xid into v_xid from emq.day_end d where d.day = p_day;
  if v_xid is null or v_xid >= pg_snapshot_xmax(pg_current_snapshot()) then
    insert into emq.day_end as d (day, xid) values (p_day, pg_current_xact_id())
      on conflict on constraint day_end_pk
      do update set xid = excluded.xid, noted_at = excluded.noted_at where d.xid = v_xid;
    return;
  end if;
  if v_xid < pg_snapshot_xmin(pg_current_snapshot()) then
    status := 'closed';
    return;
  end if;
  select string_agg(h.who, '; ' order by h.age desc, h.who) into held_by
    from (
      select age(a.backend_xid),
             format('process %s (%s, user %s, database %s)', a.pid,
                    coalesce(nullif(a.application_name, ''), 'no application name'),
                    coalesce(a.usename, '?'), coalesce(a.datname, '?')) as who
        from pg_stat_activity a
       where a.backend_xid is not null
      union all
      select age(p.transaction), format('prepared transaction %s (user %s, database %s)',
                                        p.gid, p.owner, p.database)
        from pg_prepared_xacts p
    ) h
   where h.age >= age(v_xid::xid);
end $$;
revoke all on function emq.closed from public;
