-- Promise: whether a day can still get a row of the archive: open (it is not over by an hour), held
--   (a transaction goes on that may have read the clock before midnight; held_by names those that
--   are known; ask again), closed (no row can come any more, short of a clock that goes back). The
--   first call after the end of a day only takes note of it. Each in a transaction of its own.
-- Parameters: p_day in UTC.
-- Locks: the row of the day in day_end, on its first call.
-- Index: day_end_pk.
-- Exact, because whoever writes to the archive has its lock on the table and its transaction id before
-- it reads the clock: complete, cancel and discard read it for a row that they delete in the same
-- statement. So an id taken after the end of the day is above those of all who wrote for it, and
-- when none of the transactions up to it holds the archive any more, they have ended. Others that go
-- on, here or in another database, do not matter. An id that this server has not come to yet is one
-- of another server, from which the table was copied.
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
  select string_agg(case when p.gid is not null then format('prepared transaction %s', p.gid)
                         else format('process %s (%s, user %s)', h.pid,
                                     coalesce(nullif(a.application_name, ''), 'no application name'),
                                     coalesce(a.usename, '?')) end, '; ' order by h.pid, p.gid)
    into held_by
    from (
      select r.pid, (array_agg(x.transactionid order by age(x.transactionid) desc))[1] as xid
        from pg_locks r
        join pg_locks x on x.virtualtransaction = r.virtualtransaction
                       and x.locktype = 'transactionid' and x.mode = 'ExclusiveLock'
       where r.relation = 'emq.archive'::regclass and r.mode = 'RowExclusiveLock'
         and r.database = (select d.oid from pg_database d where d.datname = current_database())
       group by r.virtualtransaction, r.pid
    ) h
    left join pg_stat_activity a on a.pid = h.pid
    left join pg_prepared_xacts p on h.pid is null and p.transaction = h.xid
   where age(h.xid) >= age(v_xid::xid);
  if held_by is null then
    status := 'closed';
  end if;
end $$;
revoke all on function emq.closed from public;
