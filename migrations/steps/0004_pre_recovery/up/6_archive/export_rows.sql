-- Promise: a page of a day's finished jobs in the order of (id, finished_at), each with its envelope
--   and, where there were claims that ended without completion, those as JSON. An envelope that is not
--   the row's own (the id was retired and lives again) or that is gone leaves nulls. Payload, headers
--   and result are JSON as text: numbers keep every digit.
-- Parameters: p_day; (p_after_id, p_after_at) the last row of the page before, null for the first;
--   p_limit rows, and no more once p_bytes of JSON are reached: a page fits into memory.
-- Locks: ACCESS SHARE on the partition and what it reads. No snapshot outlives the page.
-- Index: archive_id_idx of the partition, job_pk, attempt_id_idx of the partitions of the job's life.
create function emq.export_rows(
  p_day date, p_after_id uuid, p_after_at timestamptz, p_limit int, p_bytes bigint default 8000000
) returns table (
  id uuid, queue text, task text, status text, attempts int, stalled int, failures int,
  fence bigint, worker text, enqueued_at timestamptz, claimed_at timestamptz,
  lease_deadline timestamptz, finished_at timestamptz, priority int, max_attempts int, lease_ms int,
  payload text, headers text, result text, history text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  v_bytes bigint := 0;
begin
  for id, queue, task, status, attempts, stalled, failures, fence, worker, enqueued_at, claimed_at,
      lease_deadline, finished_at, priority, max_attempts, lease_ms, payload, headers, result,
      history
  in execute format(
    'select a.id, a.queue, y.task, a.status, a.attempts, a.stalled::int, a.failures::int, a.fence,
            a.worker, y.enqueued_at, a.claimed_at, a.lease_deadline, a.finished_at, y.priority::int,
            y.max_attempts::int, y.lease_ms, y.payload::text, y.headers::text, a.result::text, h.history
       from emq.%I a
       left join emq.job y on y.id = any (array[a.id]) and y.enqueued_at < a.finished_at + interval ''1 h''
       left join lateral (
         select jsonb_agg(jsonb_build_object(
                  ''attempt'', t.fence >> 40, ''how'', t.how, ''worker'', t.worker,
                  ''claimed_at'', t.claimed_at, ''ended_at'', t.ended_at,
                  ''lease_deadline'', t.lease_deadline, ''extensions'', t.extensions,
                  ''error'', t.error) order by t.ended_at, t.fence)::text as history
           from emq.attempt t
          where (a.attempts > 1 or a.status <> ''completed'') and t.id = a.id
            and t.ended_at >= coalesce(y.enqueued_at, emq.id_time(a.id) - interval ''1 day'') - interval ''1 h''
            and t.ended_at < a.finished_at + interval ''1 h''
       ) h on true
      where a.id >= $1 and (a.id, a.finished_at) > ($1, $2)
      order by a.id, a.finished_at limit $3', 'archive_' || to_char(p_day, 'YYYYMMDD'))
    using coalesce(p_after_id, '00000000-0000-0000-0000-000000000000'),
          coalesce(p_after_at, '-infinity'), p_limit
  loop
    return next;
    v_bytes := v_bytes + coalesce(length(payload), 0) + coalesce(length(headers), 0)
               + coalesce(length(result), 0) + coalesce(length(history), 0);
    exit when v_bytes >= p_bytes;
  end loop;
end $$;
revoke all on function emq.export_rows from public;
