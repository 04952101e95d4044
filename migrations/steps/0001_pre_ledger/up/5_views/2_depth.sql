-- Shows: each queue that has settings or live jobs: how many wait, run and died, and the age of the
-- job that has waited longest at the head of its level. Counts are by scan: for people and
-- dashboards, not for a hot path.
create view emq.depth as
with n as (
  select queue, count(*) as pending, 0::bigint as scheduled, 0::bigint as active,
         0::bigint as expired, 0::bigint as dead
    from emq.pending group by queue
  union all
  select queue, 0, count(*), 0, 0, 0 from emq.scheduled group by queue
  union all
  select queue, 0, 0, count(*), count(*) filter (where lease_deadline < clock_timestamp()), 0
    from emq.active group by queue
  union all
  select queue, 0, 0, 0, 0, count(*) from emq.dead group by queue
  union all
  select name, 0, 0, 0, 0, 0 from emq.queue
)
select n.queue, coalesce(bool_or(q.paused), false) as paused,
       sum(n.pending)::bigint as pending, sum(n.scheduled)::bigint as scheduled,
       sum(n.active)::bigint as active, sum(n.expired)::bigint as expired,
       sum(n.dead)::bigint as dead,
       extract(epoch from clock_timestamp() - (
         select min(h.enqueued_at)
           from generate_series(0, 9) as r (rank)
           cross join lateral (
             select j.enqueued_at
               from (select p.id from emq.pending p
                      where p.queue = n.queue and p.rank = r.rank::smallint
                      order by p.ord limit 1) p
               join emq.job j on j.id = p.id) h))::float8 as oldest_seconds
  from n
  left join emq.queue q on q.name = n.queue
 group by n.queue;
