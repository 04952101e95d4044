-- Promise: what was in flight at an instant: each claim that had been made and had not ended, with its
--   worker, how and when it ended later (null: it has not), and the last deadline that its lease had.
--   Exact for what is kept, in one snapshot, but for claims that ended more than p_longest after the
--   instant. Says nothing of an instant that is still to come.
-- Parameters: p_at; p_limit rows, 10000 at most, the oldest claims first; p_longest, null for any: no
--   day after that is read.
-- Locks: ACCESS SHARE on the days from p_at to p_longest after it: planned at each call.
-- Index: none: these days are read whole, and the ledger. job_pk.
create function emq.as_of(
  p_at timestamptz, p_limit int default 1000, p_longest interval default '1 day'
)
returns table (
  id uuid, queue text, task text, worker text, attempts int, claimed_at timestamptz,
  ended_at timestamptz, ended text, lease_deadline timestamptz
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
  if p_at is null or p_at > clock_timestamp() then
    return;
  end if;
  return query execute
    'select f.id, f.queue, j.task, f.worker, f.attempts, f.claimed_at, f.ended_at, f.ended,
            f.lease_deadline
       from (
         select x.* from (
           select a.id, a.queue, a.worker, a.attempts, a.claimed_at, null::timestamptz as ended_at,
                  null as ended, a.lease_deadline
             from emq.active a where a.claimed_at <= $1
           union all
           select t.id, t.queue, t.worker, (t.fence >> 40)::int, t.claimed_at, t.ended_at, t.how,
                  t.lease_deadline
             from emq.attempt t where t.ended_at > $1 and t.ended_at <= $2 and t.claimed_at <= $1
           union all
           select r.id, r.queue, r.worker, r.attempts, r.claimed_at, r.finished_at, r.status,
                  r.lease_deadline
             from emq.archive r
            where r.finished_at > $1 and r.finished_at <= $2 and r.claimed_at <= $1
              and r.status = ''completed''
         ) x
         order by x.claimed_at, x.id limit $3
       ) f
       left join emq.job j on j.id = f.id and j.enqueued_at < f.claimed_at + interval ''1 h''
      order by f.claimed_at, f.id'
    using p_at, case when p_at <= clock_timestamp() - p_longest then p_at + p_longest
                     else clock_timestamp() + interval '1 hour' end,
          least(coalesce(p_limit, 1000), 10000);
end $$;
revoke all on function emq.as_of from public;
