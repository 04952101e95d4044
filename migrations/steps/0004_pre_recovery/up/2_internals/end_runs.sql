-- Promise: the one path by which a claim ends without completion, whoever ends it: the holder, the
--   reaper, an operator. Each run gets its attempt row, and its job goes where the end says:
--     exception, timeout    failures + 1; waits its delay, or is dead when the budget is spent
--     stalled               stalled + 1; head of its level at once, or dead when a budget is spent
--     permanent, expired    dead, whatever is left of the budget (permanent counts as a failure)
--     no handler            waits its delay at no cost; dead when older than the queue's unknown_after
--     snooze, release       waits its delay, or stands at the head of its level, at no cost
--   A budget: stalled against the queue's max_stalled; stalled + failures against max_attempts.
--   A job that was lost quarantine_after times goes on in the queue's quarantine. For each dead
--   letter the queue's on_dead task is enqueued, in this transaction. Answers pending | scheduled |
--   dead, in step with the rows.
-- Parameters: p_runs, the ledger rows as the caller has just deleted them; p_ends, p_delays, p_errors
--   in step (the last two may be null); p_max_stalled null for the queue's.
-- Locks: the envelopes of quarantined jobs.
-- Index: job_pk, queue_pk. Its plans are made under the planner settings of its callers, which all
--   pin them.
create function emq.end_runs(
  p_runs emq.active[], p_ends text[], p_delays interval[] default null,
  p_errors text[] default null, p_max_stalled int default null
) returns text[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_where text[];
  v_moved uuid[];
  v_moved_to text[];
  v_hooks boolean;
begin
  with r as (
    select u.*, u.stalled + (u.ended = 'stalled')::int as s,
           u.failures + (u.ended in ('exception', 'timeout', 'permanent'))::int as f
      from unnest(p_runs, p_ends, p_delays, p_errors) with ordinality
        as u (id, fence, lease_deadline, claimed_at, attempts, lease_ms, extensions, rank, stalled,
              failures, queue, worker, ended, delay, error, n)
  ), m as materialized (
    select r.*, clock_timestamp() as at, j.lease_ms as own_lease_ms, j.task,
           case when r.ended in ('stalled', 'release') then r.rank & ~1 else r.rank | 1 end as line,
           case when r.ended in ('stalled', 'release') or r.delay <= interval '0' then null
                else r.delay end as wait,
           case r.ended
             when 'stalled' then r.s >= coalesce(p_max_stalled, q.max_stalled, 3)
                                 or r.s + r.f >= coalesce(j.max_attempts, q.max_attempts, 25)
             when 'exception' then r.s + r.f >= coalesce(j.max_attempts, q.max_attempts, 25)
             when 'timeout' then r.s + r.f >= coalesce(j.max_attempts, q.max_attempts, 25)
             when 'permanent' then true
             when 'expired' then true
             when 'no handler' then coalesce(j.enqueued_at < clock_timestamp() - q.unknown_after, false)
             else false end as spent,
           case when r.ended = 'stalled' and r.s >= coalesce(q.quarantine_after, 2)
                then q.quarantine end as moves_to
      from r
      left join lateral (select y.max_stalled, y.max_attempts, y.unknown_after, y.quarantine,
                                y.quarantine_after
                           from emq.queue y where y.name = r.queue offset 0) q on true
      left join lateral (select y.max_attempts, y.lease_ms, y.task, y.enqueued_at
                           from emq.job y where y.id = r.id offset 0) j on true
  ), t as (
    insert into emq.attempt
      (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker, error)
    select m.id, m.fence, m.at, m.claimed_at, m.lease_deadline, m.extensions,
           case m.ended when 'exception' then 'failed' when 'permanent' then 'failed'
                        when 'timeout' then 'timed out' when 'snooze' then 'snoozed'
                        when 'no handler' then 'snoozed' when 'release' then 'released'
                        else m.ended end,
           m.queue, m.worker, m.error
      from m order by m.n
  ), e as (
    insert into emq.dead
      (id, fence, queue, attempts, rank, stalled, failures, reason, error, task, worker, fingerprint)
    select m.id, m.fence, m.queue, m.attempts, m.rank, m.s, m.f, m.ended, m.error, m.task, m.worker,
           emq.fingerprint(m.task, m.ended, m.error)
      from m where m.spent
  ), w as (
    insert into emq.scheduled (run_at, id, queue, attempts, lease_ms, rank, stalled, failures)
    select clock_timestamp() + m.wait, m.id, coalesce(m.moves_to, m.queue), m.attempts,
           m.own_lease_ms, m.line, m.s, m.f
      from m where not m.spent and m.wait is not null
  ), b as (
    insert into emq.pending (id, queue, attempts, lease_ms, rank, stalled, failures)
    select m.id, coalesce(m.moves_to, m.queue), m.attempts, m.own_lease_ms, m.line, m.s, m.f
      from m where not m.spent and m.wait is null order by m.n
  )
  select array_agg(case when m.spent then 'dead' when m.wait is not null then 'scheduled'
                        else 'pending' end order by m.n),
         array_agg(m.id) filter (where not m.spent and m.moves_to is not null),
         array_agg(m.moves_to) filter (where not m.spent and m.moves_to is not null),
         bool_or(m.spent)
    into v_where, v_moved, v_moved_to, v_hooks
    from m;

  if v_moved is not null then  -- the one change that an envelope knows: where its job waits
    update emq.job j set queue = k.queue
      from (select * from unnest(v_moved, v_moved_to) as u (id, queue) order by 1) k
     where j.id = any (array[k.id]);
  end if;
  if v_hooks and exists (select from emq.queue q where q.on_dead is not null) then
    perform emq.tell_dead(array(select k.id from unnest(p_runs, v_where) as k (
      id, fence, lease_deadline, claimed_at, attempts, lease_ms, extensions, rank, stalled,
      failures, queue, worker, answer) where k.answer = 'dead'));
  end if;
  return coalesce(v_where, '{}');
end $$;
revoke all on function emq.end_runs from public;
