-- Promise: records one refusal for each of these stale calls, with what is known of the stale
--   claim: its task, queue, worker, attempts; `late`, how long its lease had been over (null: the claim
--   ended before its lease did, or its rows are kept no more); `overlap`, for how long the next attempt
--   had been running by then, at most until that attempt's own end (null: the job was not claimed
--   again, or nobody knows such a claim). No refusal is an extension that comes after its own holder has
--   settled the job (the two met on their way), nor a completion repeated under the fence that
--   completed it. Never raises, whatever the ids and fences are. Answers how many.
-- Parameters: p_ids, none of them null, p_fences, p_verbs in step; p_at when, null for now.
-- Locks: none on the ledger; ACCESS SHARE on the partitions from a day before the oldest id to an hour
--   from now: EXECUTE plans at each call, so pruning happens at planning (see archived.sql).
-- Index: active_pk, job_pk; attempt_id_idx and archive_id_idx, for each id of the days since it was
--   minted: `since` prunes as the statement runs, so one old id among many costs only itself.
create function emq.record_refusals(
  p_ids uuid[], p_fences bigint[], p_verbs text[], p_at timestamptz[]
) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_from timestamptz;
  n int;
begin
  select min(emq.id_time(u)) - interval '1 day' into v_from from unnest(p_ids) u;
  execute $q$
    insert into emq.refusal (at, id, fence, held, verb, task, queue, worker, attempts, late, overlap)
    select k.at, k.id, k.fence, a.fence, k.verb, j.task, coalesce(t.queue, j.queue), t.worker,
           case when k.fence >> 40 > 0 then (k.fence >> 40)::int end,
           case when t.lease_deadline <= t.ended_at and t.lease_deadline < k.at
                then k.at - t.lease_deadline end,
           case when t.queue is not null and n.claimed_at < k.at
                then greatest(least(k.at, n.ended_at) - n.claimed_at, interval '0') end
      from (select u.id, u.fence, coalesce(u.verb, 'unknown') as verb,
                   coalesce(u.at, clock_timestamp()) as at, emq.id_time(u.id) - interval '1 day' as since
              from unnest($1, $2, $3, $4) as u (id, fence, verb, at)) k
      left join lateral (select y.fence, y.claimed_at from emq.active y where y.id = k.id offset 0) a
             on true
      left join lateral (select y.task, y.queue from emq.job y where y.id = k.id offset 0) j on true
      left join lateral (
        select e.queue, e.worker, e.lease_deadline, e.ended_at, e.how
          from emq.attempt e
         where e.id = k.id and e.fence = k.fence
           and e.ended_at >= $5 and e.ended_at >= k.since and e.ended_at < $6
        union all
        select e.queue, e.worker, e.lease_deadline, e.finished_at, 'completed' from emq.archive e
         where e.id = k.id and e.fence = k.fence
           and e.finished_at >= $5 and e.finished_at >= k.since and e.finished_at < $6
         limit 1) t on true
      left join lateral (
        select y.claimed_at, y.ended_at
          from (select a.fence >> 40 as attempts, a.claimed_at, null::timestamptz as ended_at
                 where a.fence >> 40 > k.fence >> 40
                union all
                select e.fence >> 40, e.claimed_at, e.ended_at from emq.attempt e
                 where e.id = k.id and e.fence >> 40 > k.fence >> 40
                   and e.ended_at >= $5 and e.ended_at >= k.since and e.ended_at < $6
                union all
                select e.attempts, e.claimed_at, e.finished_at from emq.archive e
                 where e.id = k.id and e.attempts > k.fence >> 40 and e.claimed_at is not null
                   and e.finished_at >= $5 and e.finished_at >= k.since and e.finished_at < $6
               ) y order by y.attempts limit 1) n on true
     where t.how is null
        or not (k.verb = 'extend' and t.how in ('completed', 'failed', 'timed out', 'snoozed')
                or k.verb = 'complete' and t.how = 'completed')
  $q$ using p_ids, p_fences, p_verbs, p_at, v_from, clock_timestamp() + interval '1 hour';
  get diagnostics n = row_count;
  return n;
end $$;
revoke all on function emq.record_refusals from public;
