-- Promise: dead letters, newest first, one row each: why it died, the line of its error that says
--   most, who held it last, and what a replay of many would do with it. For people and programs;
--   errors are in it, so it is the operator's.
-- Parameters: p_filter (see dead_where.sql); p_limit; p_after null, or an object with died_at and id
--   of the last row seen: what follows it.
-- Locks: none.
-- Index: those of dead_matching; dead_pk.
create function emq.dead_list(
  p_filter jsonb default '{}', p_limit int default 100, p_after jsonb default null
)
returns table (
  id uuid, died_at timestamptz, queue text, task text, reason text, headline text, fingerprint text,
  worker text, attempts int, stalled int, failures int, verdict text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select m.id, m.died_at, m.queue, m.task, m.reason, emq.headline(d.error), m.fingerprint, d.worker,
         d.attempts, d.stalled::int, d.failures::int, m.verdict
    from emq.dead_matching(p_filter, true, p_limit, p_after) m
    join emq.dead d on d.id = m.id
   order by m.died_at desc, m.id desc;
end $$;
revoke all on function emq.dead_list from public;
