-- Promise: what the claim call with this nonce holds now: reads back a claim whose reply was lost.
--   Nothing may also mean that it has not committed yet.
-- Parameters: p_nonce as given to claim.
-- Locks: none.
-- Index: active_deadline_idx from reap's published floor (else every dead row of a pinned horizon
--   would be walked), then job_pk.
create function emq.claimed(p_nonce bigint)
returns table (
  id uuid, fence bigint, attempts int, stalled int, failures int, lease_deadline timestamptz,
  lease_ms int, task text, payload jsonb, headers jsonb, enqueued_at timestamptz, queue text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_from timestamptz;
  v_nonce bigint := p_nonce & 1099511627775;
begin
  v_from := coalesce((select case when s.t > clock_timestamp() then '-infinity' else s.reap_from end
                        from emq.settled s order by s.n desc limit 1), '-infinity');
  return query
  select a.id, a.fence, a.attempts, a.stalled::int, a.failures::int, a.lease_deadline, a.lease_ms,
         j.task, j.payload, j.headers, j.enqueued_at, a.queue
    from (select y.* from emq.active y
           where y.lease_deadline >= v_from and (y.fence & 1099511627775) = v_nonce offset 0) a
    cross join lateral (select y.task, y.payload, y.headers, y.enqueued_at
                          from emq.job y where y.id = a.id offset 0) j
   order by a.id;
end $$;
