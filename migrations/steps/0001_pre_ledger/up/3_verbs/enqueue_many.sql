-- Promise: adds jobs of one queue in the caller's transaction; answers enqueued | scheduled |
--   duplicate for each, in the order given. An id twice in a call is a duplicate the second time.
-- Parameters: arrays in step; a null array, or a null in one, means the default (see enqueue.sql).
-- Locks: job rows in id order, so that two calls with the same ids cannot deadlock.
-- Index: job_pk (on conflict).
create function emq.enqueue_many(
  p_queue text, p_ids uuid[], p_tasks text[], p_payloads jsonb[], p_priorities int[] default null,
  p_run_ats timestamptz[] default null, p_delays interval[] default null,
  p_max_attempts int[] default null, p_leases interval[] default null, p_headers jsonb[] default null
) returns text[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  r text[];
  v_new uuid[];
  n int := cardinality(p_ids);
  v_newest timestamptz;
  v_all_v7 boolean;
begin
  if cardinality(p_tasks) <> n or cardinality(p_payloads) <> n or cardinality(p_priorities) <> n
     or cardinality(p_run_ats) <> n or cardinality(p_delays) <> n
     or cardinality(p_max_attempts) <> n or cardinality(p_leases) <> n
     or cardinality(p_headers) <> n then
    raise exception 'emq: enqueue_many was given arrays of different lengths'
      using errcode = 'EQ006', hint = 'Each array has one element for each id, or is null.';
  end if;
  select emq.id_time(max(u::text collate "C")::uuid),
         bool_and(u is not null and substr(u::text, 15, 1) = '7')
    into v_newest, v_all_v7 from unnest(p_ids) u;
  if p_queue is null or p_queue !~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'
     or not v_all_v7 or v_newest > clock_timestamp() + interval '1 day' then
    perform emq.refuse_new(p_queue, p_ids);
  end if;

  with j as (
    insert into emq.job (id, queue, priority, max_attempts, lease_ms, task, payload, headers)
    select u.id, p_queue, coalesce(u.priority, 2), u.max_attempts,
           (extract(epoch from u.lease) * 1000)::int, u.task, u.payload, u.headers
      from unnest(p_ids, p_tasks, p_payloads, p_priorities, p_max_attempts, p_leases, p_headers)
             as u (id, task, payload, priority, max_attempts, lease, headers)
     order by u.id
    on conflict on constraint job_pk do nothing
    returning job.id
  )
  select array_agg(j.id) into v_new from j;

  if cardinality(v_new) = n and p_run_ats is null and p_delays is null then  -- the usual path
    insert into emq.pending (id, queue, rank, lease_ms)
    select u.id, p_queue, coalesce(u.priority, 2) * 2 + 1, (extract(epoch from u.lease) * 1000)::int
      from unnest(p_ids, p_priorities, p_leases) with ordinality as u (id, priority, lease, i)
     order by u.i;
    return array_fill('enqueued'::text, array[n]);
  end if;

  with u as materialized (  -- the clock is read inside the insert, as in enqueue
    select w.*, coalesce(w.at > clock_timestamp(), false) as later,
           w.id = any (coalesce(v_new, '{}'))
             and row_number() over (partition by w.id order by w.i) = 1 as fresh
      from (select y.id, coalesce(y.priority, 2) * 2 + 1 as rank,
                   (extract(epoch from y.lease) * 1000)::int as lease_ms,
                   coalesce(y.run_at, clock_timestamp() + y.delay) as at, y.i
              from unnest(p_ids, p_priorities, p_leases, p_run_ats, p_delays)
                     with ordinality as y (id, priority, lease, run_at, delay, i)
            offset 0) w
  ), p as (
    insert into emq.pending (id, queue, rank, lease_ms)
    select u.id, p_queue, u.rank, u.lease_ms from u where u.fresh and not u.later order by u.i
  ), s as (
    insert into emq.scheduled (run_at, id, queue, rank, lease_ms)
    select u.at, u.id, p_queue, u.rank, u.lease_ms from u where u.fresh and u.later
  )
  select coalesce(array_agg(case when not u.fresh then 'duplicate'
                                 when u.later then 'scheduled' else 'enqueued' end order by u.i), '{}')
    into r from u;
  return r;
end $$;
