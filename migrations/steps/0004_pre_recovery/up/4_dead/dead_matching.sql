-- Promise: the dead letters that a filter chooses, in the order of their deaths, each with what a
--   replay of many would do with it. Task and fingerprint are there for old letters too, which do
--   not carry them: from the envelope, and from what the error says.
-- Parameters: p_filter (see dead_where.sql); p_newest first, else oldest first; p_limit rows at most,
--   all when null; p_after null, or died_at and id of the last one seen.
-- Locks: none.
-- Index: dead_died_at_idx from p_after on, in either direction, so that chunk after chunk walks it
--   once; dead_pk where ids are few. job_pk for letters without a task, queue_pk.
create function emq.dead_matching(p_filter jsonb, p_newest boolean, p_limit int, p_after jsonb)
returns table (
  id uuid, died_at timestamptz, queue text, task text, reason text, fingerprint text, verdict text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  v_where text := emq.dead_where(p_filter);
  v_at timestamptz;
  v_id uuid;
begin
  if p_after is not null then
    begin
      v_at := p_after ->> 'died_at';
      v_id := p_after ->> 'id';
    exception when data_exception then
      null;
    end;
    if v_at is null or v_id is null then
      raise exception 'emq: no dead letter comes after %', left(p_after::text, 100)
        using errcode = 'EQ006', hint = 'Give died_at and id of the last one that was seen.';
    end if;
    v_where := v_where || format(' and (d.died_at, d.id) %s ($4, $5)',
                                 case when p_newest then '<' else '>' end);
  end if;
  return query execute format(
    'select d.id, d.died_at, d.queue, t.task, d.reason, f.fingerprint,
            emq.replay_verdict(d.reason, d.died_at, q.replay_within, $2, $6)
       from emq.dead d
       left join lateral (select y.task from emq.job y
                           where d.task is null and y.id = d.id offset 0) j on true
       cross join lateral (select coalesce(d.task, j.task) as task) t
       cross join lateral (
         select coalesce(d.fingerprint, emq.fingerprint(t.task, d.reason, d.error)) as fingerprint) f
       left join lateral (select y.replay_within from emq.queue y
                           where y.name = d.queue offset 0) q on true
      where %1$s
      order by d.died_at %2$s, d.id %2$s
      limit $3', v_where, case when p_newest then 'desc' else 'asc' end)
    using p_filter, clock_timestamp(), p_limit, v_at, v_id,
          p_filter ?| array['reason', 'ids'] or p_filter -> 'include_permanent' = 'true';
end $$;
revoke all on function emq.dead_matching from public;
