-- Promise: whether a job still counts as the holder of its unique key: `until`, before that instant,
--   whatever became of it; `unfinished`, while it waits, runs or is between two runs; `waiting`, while no
--   worker has it. One that is a dead letter or has ended counts no more, nor does one that is erased.
-- Parameters: those of its row.
-- Locks: none; asked anew in each statement, whose snapshot shows a job in one place.
-- Index: job_pk, dead_pk, active_pk, archive_id_idx. Waiting is told from what it is not, since the line
--   and the schedule have no index on id that each enqueue would pay for.
create function emq.holds_key(p_id uuid, p_scope text, p_until timestamptz) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  if p_scope = 'until' then
    return p_until > clock_timestamp();
  end if;
  return exists (
    select from emq.job j
     where j.id = p_id
       and not exists (select from emq.dead d where d.id = j.id)
       and not exists (select from emq.archive r
                        where r.id = j.id and r.finished_at > j.enqueued_at - interval '1 h')
       -- (A scalar, since an EXISTS behind OR may become a hash of the whole table.)
       and (p_scope = 'unfinished' or (select a.id from emq.active a where a.id = j.id) is null));
end $$;
revoke all on function emq.holds_key from public;
