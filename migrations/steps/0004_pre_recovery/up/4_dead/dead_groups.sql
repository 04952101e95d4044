-- Promise: dead letters that died of the same, as one row: same task, same reason, same error but for
--   its particulars (see fingerprint.sql). How many they are, how many of them a replay of many would
--   put back, since when and until when they died, in which queues, and the newest as an example.
--   The largest group first.
-- Parameters: p_filter (see dead_where.sql); p_limit groups at most.
-- Locks: none.
-- Index: those of dead_matching, which walks all letters that match; dead_pk.
create function emq.dead_groups(p_filter jsonb default '{}', p_limit int default 50)
returns table (
  task text, reason text, fingerprint text, headline text, letters bigint, replayable bigint,
  first_died_at timestamptz, last_died_at timestamptz, queues text[], example uuid
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select g.task, g.reason, g.fingerprint, emq.headline(d.error), g.letters, g.replayable,
         g.first_died_at, g.last_died_at, g.queues, g.example
    from (
      select m.task, m.reason, m.fingerprint, count(*) as letters,
             count(*) filter (where m.verdict = 'replay') as replayable,
             min(m.died_at) as first_died_at, max(m.died_at) as last_died_at,
             array_agg(distinct m.queue order by m.queue) as queues,
             (array_agg(m.id order by m.died_at desc, m.id desc))[1] as example
        from emq.dead_matching(p_filter, false, null, null) m
       group by m.task, m.reason, m.fingerprint
       order by letters desc, last_died_at desc, fingerprint
       limit p_limit) g
    join emq.dead d on d.id = g.example
   order by g.letters desc, g.last_died_at desc, g.fingerprint;
end $$;
revoke all on function emq.dead_groups from public;
