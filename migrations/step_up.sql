-- Template of a numbered step, upward: one statement, so that Alembic's op.execute, Django's RunSQL,
-- psql and a driver can all run it. It is a no-op at or above its number and an error over a gap,
-- decided under a lock, so that several tools may follow one another.
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
  if v >= @number@ then
    raise notice 'emq: step @number@ is in place already (the schema is at %)', v;
    return;
  end if;
  if v < @number@ - 1 then
    raise exception 'emq: step @number@ would leave a gap: the schema is at %', v
      using errcode = 'EQ004', hint = 'Apply the steps in between first: emq schema upgrade.';
  end if;
@statements@
  update emq.meta set version = @number@, upgraded_at = clock_timestamp();
end $emq_step$;
