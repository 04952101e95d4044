-- Promise: one dead letter whole: its error in full, how often it was replayed before, and what a
--   replay of it alone would do (replay | never | too old). No row when the id is not dead.
-- Parameters: p_id.
-- Locks: none.
-- Index: dead_pk, job_pk, queue_pk, audit_id_idx.
create function emq.dead_letter(p_id uuid)
returns table (
  id uuid, queue text, task text, reason text, died_at timestamptz, worker text, attempts int,
  stalled int, failures int, replays bigint, verdict text, fingerprint text, headline text,
  error text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select d.id, d.queue, t.task, d.reason, d.died_at, d.worker, d.attempts, d.stalled::int,
         d.failures::int,
         (select count(*) from emq.audit a where a.id = d.id and a.verb = 'replay'),
         emq.replay_verdict(d.reason, d.died_at, q.replay_within, clock_timestamp(), true),
         coalesce(d.fingerprint, emq.fingerprint(t.task, d.reason, d.error)), emq.headline(d.error),
         d.error
    from emq.dead d
    left join lateral (select y.task from emq.job y where y.id = d.id offset 0) j on true
    cross join lateral (select coalesce(d.task, j.task) as task) t
    left join lateral (select y.replay_within from emq.queue y where y.name = d.queue offset 0) q on true
   where d.id = p_id;
end $$;
revoke all on function emq.dead_letter from public;
