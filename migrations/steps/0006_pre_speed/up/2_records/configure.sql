-- Promise: sets what is given of a queue's settings and leaves the rest; jobs and leases that exist
--   keep what they have. A length that is infinite is refused (EQ006). Audited.
-- Parameters: p_queue; p_lease; p_max_attempts; p_max_stalled; p_retention; p_label.
-- Locks: the queue's settings row, waited for 5 s at most.
-- Index: queue_pk.
create or replace function emq.configure(
  p_queue text, p_lease interval default null, p_max_attempts int default null,
  p_max_stalled int default null, p_retention interval default null, p_label text default null
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
begin
  perform emq.refuse_new(p_queue, '{}'), emq.finite('lease', p_lease),
          emq.finite('retention', p_retention);
  insert into emq.queue as q (name, lease, max_attempts, max_stalled, retention)
  values (p_queue, coalesce(p_lease, '30 s'), coalesce(p_max_attempts, 25),
          coalesce(p_max_stalled, 3), p_retention)
  on conflict on constraint queue_pk do update
    set lease = coalesce(p_lease, q.lease),
        max_attempts = coalesce(p_max_attempts, q.max_attempts),
        max_stalled = coalesce(p_max_stalled, q.max_stalled),
        retention = coalesce(p_retention, q.retention);
  insert into emq.audit (verb, queue, label, detail)
  values ('configure', p_queue, p_label, jsonb_strip_nulls(jsonb_build_object(
    'lease', p_lease, 'max_attempts', p_max_attempts, 'max_stalled', p_max_stalled,
    'retention', p_retention)));
end $$;
