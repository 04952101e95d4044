-- Shows: the in-flight list: each job that a worker has claimed and not finished, who holds it, at
-- which attempt, and how long its lease still runs by the server's clock (negative: expired, and
-- the next reap takes it back).
create view emq.ledger as
select a.id, a.queue, j.task, a.worker, a.attempts, a.stalled, a.failures, a.claimed_at,
       a.lease_deadline,
       extract(epoch from clock_timestamp() - a.claimed_at)::float8 as running_seconds,
       extract(epoch from a.lease_deadline - clock_timestamp())::float8 as seconds_left,
       a.extensions,
       case when a.lease_deadline < clock_timestamp() then 'expired' else 'held' end as lease_state
  from emq.active a
  join emq.job j on j.id = a.id;
