-- Template of a numbered step, downward; the rules of step_up.sql the other way round.
-- Parameters: the number of the step, the statements of its files.
-- Locks: one advisory lock to the end of the transaction, and those of its statements.
do $emq_step$
declare
  v int := 0;
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
  if v < @number@ then
    raise notice 'emq: step @number@ is not in place (the schema is at %)', v;
    return;
  end if;
  if v > @number@ then
    raise exception 'emq: step @number@ is not the newest: the schema is at %', v
      using errcode = 'EQ004', hint = 'Take back the later steps first: emq schema downgrade.';
  end if;
@statements@
  if to_regclass('emq.meta') is not null then
    execute 'update emq.meta set version = @number@ - 1, upgraded_at = clock_timestamp()';
  end if;
end $emq_step$;
