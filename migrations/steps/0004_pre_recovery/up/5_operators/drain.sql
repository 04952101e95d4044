-- Promise: one batch of the jobs that wait in a queue goes to the archive as cancelled; those that run
--   go on. Envelopes stay until retention, so the ids stay duplicates. Call again with `next` until it
--   is null; from the beginning at any time. A job that an open transaction has (a claim, a promotion)
--   is left to it. Audited, a row a batch.
-- Parameters: p_queue; p_limit jobs a batch; p_scheduled, whether also those that wait for an instant;
--   p_after, the `next` of the batch before; p_label.
-- Locks: those of withdraw.
-- Index: those of withdraw.
create function emq.drain(
  p_queue text, p_limit int default 1000, p_scheduled boolean default false,
  p_after jsonb default null, p_label text default null, out cancelled int, out next jsonb
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_limit int := greatest(coalesce(p_limit, 1000), 1);
begin
  perform emq.refuse_new(p_queue, '{}');
  with w as materialized (
    select y.* from emq.withdraw(p_queue, v_limit, p_scheduled, p_after)
                 with ordinality as y (id, attempts, stalled, failures, at, n)
  ), i as (
    insert into emq.archive (id, finished_at, attempts, stalled, failures, status, queue)
    select w.id, clock_timestamp(), w.attempts, w.stalled, w.failures, 'cancelled', p_queue
      from w order by w.n
  )
  select count(*), (array_agg(w.at order by w.n desc))[1] into cancelled, next from w;
  if cancelled < v_limit then
    next := null;
  end if;
  if cancelled > 0 then
    insert into emq.audit (verb, queue, label, detail)
    values ('drain', p_queue, p_label,
            jsonb_build_object('cancelled', cancelled, 'scheduled', coalesce(p_scheduled, false)));
  end if;
end $$;
revoke all on function emq.drain from public;
