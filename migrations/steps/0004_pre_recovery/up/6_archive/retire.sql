-- Promise: one step of retiring a closed day: its envelopes are deleted from job in id order, and
--   when none is left the archive partition is dropped. No envelope of a live job goes, and no
--   archive row goes whose envelope was not visited. Where export_first is set, and for a day whose
--   export was begun, no envelope and no row goes that is not in a verified export. Answers open (the
--   day is not over by an hour) | none (no such partition) | unexported (export it first) | late (rows
--   came after its export: export it again) | more (remaining: rows still to do) | dropped | busy (a
--   lock not had: ask again). Call each step in a transaction of its own: the drop locks the archive
--   to its end. With the drop goes an audit row, and the export's record says that it took place.
-- Parameters: p_day in UTC; p_limit rows a step.
-- Locks: an advisory lock of this ledger, tried; those of export_stands; SHARE on the partition for
--   the first step and before the drop (300 ms); ACCESS EXCLUSIVE on the archive for the drop (100 ms,
--   since every completion queues behind it meanwhile), in a subtransaction so that the step's
--   deletes stay.
-- Index: archive_id_idx of the partition, job_pk.
-- Three facts make it exact. A closed day can still get a row (its writer read the clock before
-- midnight), so the rows are counted again under SHARE before the drop, and more than were visited
-- means over again. An id that was retired in an earlier step may have been enqueued again and
-- live, so each row is visited once (`upto`), and an envelope younger than the archive row by an
-- hour (less is a clock that went back) is not its own. An old snapshot would not see the late row,
-- so only READ COMMITTED will do.
-- Of an exported day a late row must not even lose its envelope: see export_stands.sql.
create or replace function emq.retire(
  p_day date, p_limit int default 10000, out status text, out remaining bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '300ms' set timezone = 'UTC'
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  v_t text := 'archive_' || to_char(p_day, 'YYYYMMDD');
  s emq.retiring;
  e emq.exported;
  v_n bigint;
  v_upto uuid;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'emq: retire needs READ COMMITTED'
      using errcode = '25001', hint = 'Call it in a transaction of its own.';
  end if;
  if clock_timestamp() < (p_day + 1)::timestamptz + interval '1 hour' then
    status := 'open';
    return;
  end if;
  if to_regclass('emq.' || v_t) is null then
    status := 'none';
    remaining := 0;
    return;
  end if;
  if not pg_try_advisory_xact_lock(7306, 'emq.retiring'::regclass::oid::int) then
    status := 'busy';
    return;
  end if;
  status := emq.export_stands(p_day);
  if status <> 'yes' then
    return;
  end if;

  select x.* into s from emq.retiring x where x.day = p_day;
  if not found then
    execute format('lock table emq.%I in share mode', v_t);  -- whoever wrote it has ended
    execute format('select count(*) from emq.%I', v_t) into v_n;
    insert into emq.retiring (day, total) values (p_day, v_n) returning * into s;
  end if;
  execute format(
    'with c as materialized (
       select a.id, a.finished_at from emq.%I a where a.id > $1 order by a.id limit $2
     ), d as (
       delete from emq.job y using c where y.id = any (array[c.id]) and y.enqueued_at < c.finished_at + interval ''1 h''
     )
     select count(*), (array_agg(c.id order by c.id desc))[1] from c', v_t)
    into v_n, v_upto
    using coalesce(s.upto, '00000000-0000-0000-0000-000000000000'), p_limit;
  update emq.retiring x set upto = coalesce(v_upto, x.upto), done = x.done + v_n
   where x.day = p_day returning * into s;
  remaining := s.total - s.done;
  status := 'more';
  if v_n = p_limit and remaining > 0 then
    return;
  end if;

  begin  -- only the drop is undone when a lock is not had
    execute format('lock table emq.%I in share mode', v_t);
    execute format('select count(*) from emq.%I', v_t) into v_n;
    select x.* into e from emq.exported x where x.day = p_day;
    if found and v_n + e.removed <> e.rows then  -- however it came past the trigger
      update emq.exported x set compared = false where x.day = p_day;
      status := 'late';
      remaining := v_n;
      return;
    end if;
    if v_n <> s.done then  -- a late row: over again, which is safe
      update emq.retiring x set upto = null, done = 0, total = v_n where x.day = p_day;
      remaining := v_n;
      return;
    end if;
    perform set_config('lock_timeout', '100ms', true);
    execute format('drop table emq.%I', v_t);
    delete from emq.retiring x where x.day = p_day;
    delete from emq.day_end x where x.day = p_day;
    if e.day is null then
      delete from emq.export_claim x where x.day = p_day;
    end if;
    update emq.exported x set dropped_at = clock_timestamp(), removed = x.rows where x.day = p_day;
    insert into emq.audit (verb, detail)
    values ('retire', jsonb_build_object('day', p_day, 'rows', v_n, 'export', e.location,
                                         'version', e.version));
    status := 'dropped';
    remaining := 0;
  exception when lock_not_available or deadlock_detected then
    status := 'busy';
  end;
exception when lock_not_available or deadlock_detected then
  status := 'busy';
  remaining := s.total - s.done;
end $$;
revoke all on function emq.retire from public;
