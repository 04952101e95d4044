-- Promise: takes waiting jobs of a queue out of the line, and then (if asked) out of the schedule,
--   p_limit at most. They are in no place then: the caller puts them where they go, or erases them,
--   before the transaction ends. `at` of the last row leads on to those behind it.
-- Parameters: p_queue; p_limit; p_scheduled; p_after, an `at`, or null for the beginning.
-- Locks: FOR UPDATE SKIP LOCKED: a job that is being claimed, promoted or moved is left to whoever
--   does it.
-- Index: pending_pk, one probe a rank; scheduled_pk from the place reached (it has none on the queue,
--   so rows of others are walked, once). Rows of both are never updated, so a delete by ctid is right.
create function emq.withdraw(p_queue text, p_limit int, p_scheduled boolean, p_after jsonb)
returns table (id uuid, attempts int, stalled smallint, failures smallint, at jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  v_rank int := coalesce((p_after ->> 'rank')::int, 0);
  v_ord bigint := coalesce((p_after ->> 'ord')::bigint, 0);
  v_run_at timestamptz := coalesce((p_after ->> 'run_at')::timestamptz, '-infinity');
  v_id uuid := coalesce((p_after ->> 'id')::uuid, '00000000-0000-0000-0000-000000000000');
  n int := 0;
begin
  if not coalesce(p_after ? 'run_at', false) then
    return query
    with x as materialized (
      select l.*
        from generate_series(v_rank, 9) as r (rank)
        cross join lateral (
          select p.ctid as c, p.id, p.rank, p.ord, p.attempts, p.stalled, p.failures
            from emq.pending p
           where p.queue = p_queue and p.rank = r.rank::smallint
             and p.ord > case when r.rank = v_rank then v_ord else 0 end
           order by p.ord limit p_limit
           for update skip locked) l
       limit p_limit
    ), d as (
      delete from emq.pending p using x where p.ctid = x.c
    )
    select x.id, x.attempts, x.stalled, x.failures,
           jsonb_build_object('rank', x.rank, 'ord', x.ord)
      from x order by x.rank, x.ord;
    get diagnostics n = row_count;
  end if;
  if p_scheduled and n < p_limit then
    return query
    with x as materialized (
      select s.ctid as c, s.id, s.run_at, s.attempts, s.stalled, s.failures
        from emq.scheduled s
       where s.queue = p_queue and (s.run_at, s.id) > (v_run_at, v_id)
       order by s.run_at, s.id limit p_limit - n
       for update skip locked
    ), d as (
      delete from emq.scheduled s using x where s.ctid = x.c
    )
    select x.id, x.attempts, x.stalled, x.failures,
           jsonb_build_object('run_at', x.run_at, 'id', x.id)
      from x order by x.run_at, x.id;
  end if;
end $$;
revoke all on function emq.withdraw from public;
