-- Promise: holds the ownership of the job to the end of the transaction and answers its lease in ms;
--   null when this very transaction has settled it. Raises EQ001 when the fence is stale, EQ007 when the
--   job was settled under it and that is committed. A transaction that is about to settle the job (it may
--   be the holder's own, on another connection) is waited for 2 s at most, and then raises 55P03. What a
--   frozen holder may do is the caller's to bound.
-- Parameters: p_id, p_fence.
-- Locks: FOR KEY SHARE on one ledger row (the caller's transaction takes an xid).
-- Index: active_pk; of a stale fence those of end_of.
-- Under REPEATABLE READ a job that was taken away since the snapshot raises 40001 instead.
create or replace function emq.hold(p_id uuid, p_fence bigint) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_lease_ms int;
  v_how text;
  v_ours boolean;
  v_wait text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', '2s', true)
    where v_wait::interval = interval '0' or v_wait::interval > interval '2 s';
  select a.lease_ms into v_lease_ms
    from emq.active a where a.id = p_id and a.fence = p_fence for key share;
  perform set_config('lock_timeout', v_wait, true);
  if v_lease_ms is not null then
    return v_lease_ms;
  end if;
  select e.how, e.ours into v_how, v_ours from emq.end_of(p_id, p_fence) e;
  if v_ours then
    return null;
  end if;
  if v_how in ('completed', 'failed', 'timed out', 'snoozed') then
    raise exception 'emq: job % was settled already under this very claim (%)', p_id, v_how
      using errcode = 'EQ007',
            hint = 'Its run is over, so nothing more is committed for it: roll back.';
  end if;
  if v_how = 'cancelled' then
    raise exception 'emq: job % was cancelled by an operator', p_id
      using errcode = 'EQ001', hint = 'Nothing more can be committed for it: roll back.';
  end if;
  raise exception 'emq: the lease of job % is lost', p_id
    using errcode = 'EQ001',
          hint = 'Another worker holds or has finished this job: roll back.';
end $$;
revoke all on function emq.hold from public;
