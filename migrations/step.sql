-- Template of a numbered step, up or down: one statement, so that Alembic's op.execute, Django's
-- RunSQL, psql and a driver can all run it. One that is done already is a no-op, and one out of its
-- turn an error, decided under a lock, so that several tools may follow one another.
-- Parameters: whether it goes up, the number of the step, the statements of its files.
-- Locks: one advisory lock to the end of the transaction, and those of its statements. Unless the
-- session has a lock_timeout of its own it waits 500 ms for each, which is less than the second
-- after which a deadlock is looked for: the step gives way, and no worker. What it has taken it gives
-- back, and tries again, for as long as emq.step_patience says (30 s), unless its transaction holds
-- others up already. The wait for another upgrade is not bounded so.
do $emq_step$
declare
  v_up constant boolean := @up@;
  v int := 0;
  v_wait text := current_setting('lock_timeout');
  v_patience interval := coalesce(nullif(current_setting('emq.step_patience', true), ''), '30 s');
  v_until timestamptz;
  v_tries int := 0;
begin
  perform pg_advisory_xact_lock(7305, hashtext('emq.'));
  -- Whoever held it may have made or dropped the schema, and to_regclass may answer from this
  -- session's cache. A table lock that is new in the transaction brings the cache up to date.
  perform from pg_conversion limit 1;
  if to_regclass('emq.meta') is not null then
    execute 'select version from emq.meta' into v;
    if v is null then
      raise exception 'emq: the ledger is here, but the row of emq.meta is gone'
        using errcode = 'EQ004',
              hint = 'Was every table truncated? Write it again with the version that was here: '
                     'insert into emq.meta (version) values (...);';
    end if;
  end if;
  if v_up and v >= @number@ then
    raise notice 'emq: step @number@ is in place already (the schema is at %)', v;
    return;
  elsif v_up and v < @number@ - 1 then
    raise exception 'emq: step @number@ would leave a gap: the schema is at %', v
      using errcode = 'EQ004', hint = 'Apply the steps in between first: emq schema upgrade.';
  elsif not v_up and v < @number@ then
    raise notice 'emq: step @number@ is not in place (the schema is at %)', v;
    return;
  elsif not v_up and v > @number@ then
    raise exception 'emq: step @number@ is not the newest: the schema is at %', v
      using errcode = 'EQ004', hint = 'Take back the later steps first: emq schema downgrade.';
  end if;
  -- Who waits for a lock on a table makes everybody wait who comes after, so it is not for long.
  perform set_config('lock_timeout', '500ms', true) where v_wait = '0';
  v_until := clock_timestamp() + v_patience;
  loop
    begin
@statements@
  if to_regclass('emq.meta') is not null then  -- not after the first one was taken back
    execute format('update emq.meta set version = %s, upgraded_at = clock_timestamp()',
                   case when v_up then @number@ else @number@ - 1 end);
  end if;
      exit;
    exception when lock_not_available or deadlock_detected then
      v_tries := v_tries + 1;
      -- With locks of what came before it in the transaction it would hold others up all the while.
      if clock_timestamp() >= v_until or exists (
           select from pg_locks l where l.pid = pg_backend_pid() and l.granted and l.locktype = 'relation'
              and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
         ) then
        raise exception 'emq: step @number@ got no lock in % tries of %; held by %',
          v_tries, current_setting('lock_timeout'), (
            select coalesce(string_agg(x.who, ', '), 'nobody any more') from (
              select case when l.pid is null then 'a prepared transaction' else
                       format('process %s (%s, %s)', l.pid, min(a.usename), min(a.application_name))
                     end as who
                from pg_locks l left join pg_stat_activity a on a.pid = l.pid
                join pg_class c on c.oid = l.relation
               where l.granted and l.pid is distinct from pg_backend_pid()
                 and l.database = (select d.oid from pg_database d where d.datname = current_database())
                 and c.relnamespace = (select m.relnamespace from pg_class m
                                        where m.oid = to_regclass('emq.meta'))
               group by l.pid order by min(a.xact_start) limit 3) x)
          using errcode = 'lock_not_available',
                hint = 'End that, or repeat it: in a transaction of its own it is tried for 30 s, or for '
                       'what emq.step_patience says.';
      end if;
    end;
    perform pg_sleep(0.2 + random() * 0.8);
  end loop;
  perform set_config('lock_timeout', v_wait, true);
end $emq_step$;
