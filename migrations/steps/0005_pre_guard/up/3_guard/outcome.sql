-- Promise: what became of (id, fence): yours (still held under it) | completed (by it) | dead | handed
--   back (failed or snoozed under it, wherever the job waits or runs now) | cancelled |
--   discarded | superseded (it ended otherwise: lost, released, timed out) | unknown. Exact for
--   as long as the rows of the archive and of the attempts are kept. While a transaction that settles
--   the job is not at its end the answer is yours: `decided` says then that it is not final.
-- Parameters: p_id, p_fence.
-- Locks: none.
-- Index: active_pk, dead_pk, archive_id_idx and attempt_id_idx of a few partitions, job_pk.
create or replace function emq.outcome(p_id uuid, p_fence bigint) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v bigint;
  v_s text;
begin
  select a.fence into v from emq.active a where a.id = p_id;
  if found and v = p_fence then
    return 'yours';
  end if;
  perform 1 from emq.dead x where x.id = p_id;
  if found then
    return 'dead';
  end if;
  select case when x.status = 'completed' and x.fence is distinct from p_fence then 'superseded'
              else x.status end
    into v_s
    from emq.archived(array[p_id]) x
   order by x.fence is not distinct from p_fence desc limit 1;
  if v_s in ('completed', 'cancelled', 'discarded') then
    return v_s;
  end if;
  perform 1 from emq.end_of(p_id, p_fence) e
    where e.how in ('failed', 'snoozed');
  if found then
    return 'handed back';
  end if;
  if v is not null or v_s is not null then
    return 'superseded';
  end if;
  perform 1 from emq.job x where x.id = p_id;
  return case when found then 'superseded' else 'unknown' end;
end $$;
revoke all on function emq.outcome from public;
