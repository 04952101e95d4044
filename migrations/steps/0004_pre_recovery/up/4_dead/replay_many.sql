-- Promise: of the dead letters that a filter chooses, one chunk in the order of their deaths goes back
--   into the line, each at the tail of its level under its id: attempts are kept, so that the fence
--   goes on growing, and stalled and failures start afresh. Never waits. What stays is counted:
--   permanent | never | too_old (see replay_verdict.sql), and busy: held by another transaction, or
--   so until a moment ago. Of two replays at once each letter is replayed by one. Audited, a row
--   for each. `queues` are those that got jobs: ring for them after the commit.
-- Parameters: p_filter (see dead_where.sql; '{}' for all); p_limit letters looked at; p_label; p_after
--   null for the first chunk, then what the last one answered in `next` (null there: that was all).
-- Locks: FOR UPDATE SKIP LOCKED on the dead rows.
-- Index: those of dead_matching; dead_pk, job_pk. Chunks go on after the last letter looked at, so
--   letters that stay cost one look and the whole is linear.
create function emq.replay_many(
  p_filter jsonb, p_limit int default 500, p_label text default null, p_after jsonb default null,
  out replayed int, out permanent int, out never int, out too_old int, out busy int,
  out queues text[], out next jsonb
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_left uuid[];
begin
  with m as materialized (
    select * from emq.dead_matching(p_filter, false, p_limit, p_after)
  ), x as materialized (
    select m.id from m
     cross join lateral (select 1 from emq.dead d where d.id = m.id for update skip locked) l
     where m.verdict = 'replay'
  ), d as (
    delete from emq.dead d using x where d.id = any (array[x.id]) returning d.*
  ), b as (
    insert into emq.pending (id, queue, attempts, lease_ms, rank)
    select d.id, d.queue, d.attempts, j.lease_ms, d.rank | 1
      from d
      left join lateral (select y.lease_ms from emq.job y where y.id = d.id offset 0) j on true
     order by d.died_at, d.id
  ), u as (
    insert into emq.audit (verb, queue, id, label, detail)
    select 'replay', d.queue, d.id, p_label,
           jsonb_build_object('reason', d.reason, 'stalled', d.stalled, 'failures', d.failures)
      from d
  )
  select (select count(*) from d), count(*) filter (where m.verdict = 'permanent'),
         count(*) filter (where m.verdict = 'never'), count(*) filter (where m.verdict = 'too old'),
         array_agg(m.id) filter (where m.verdict = 'replay'
                                   and not m.id = any (array(select d.id from d))),
         coalesce((select array_agg(distinct d.queue) from d), '{}'),
         case when count(*) = p_limit
              then (array_agg(jsonb_build_object('died_at', m.died_at, 'id', m.id)
                              order by m.died_at desc, m.id desc))[1] end
    into replayed, permanent, never, too_old, v_left, queues, next
    from m;
  -- In a newer snapshot: what another replay has taken meanwhile is not here any more.
  select count(*) into busy from emq.dead d where d.id = any (v_left);
end $$;
revoke all on function emq.replay_many from public;
