-- Promise: sets what is named of a queue's settings and leaves the rest; null resets one to its
--   default. Jobs and leases that exist keep what they have. A name that is no setting, or a value
--   that is none or infinite, is refused with the remedy (EQ006), and nothing is changed. Audited.
-- Parameters: p_queue; p_settings, an object: lease, max_attempts, max_stalled, max_active,
--   retention, cancelled_retention, dead_retention, replay_within ('0': never), unknown_after,
--   quarantine, quarantine_after, on_dead, on_dead_queue; p_label.
-- Locks: the queue's settings row, waited for 5 s at most.
-- Index: queue_pk.
create or replace function emq.set_queue(p_queue text, p_settings jsonb, p_label text default null)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
  s jsonb := p_settings;
  v_broken text;
  v_said text;
begin
  perform emq.refuse_new(p_queue, '{}');
  perform emq.refuse_settings(s, array[
    'lease', 'max_attempts', 'max_stalled', 'max_active', 'retention', 'cancelled_retention',
    'dead_retention', 'replay_within', 'unknown_after', 'quarantine', 'quarantine_after', 'on_dead',
    'on_dead_queue']);
  if s @? 'strict $.* ? (@.type() == "object" || @.type() == "array")' then
    raise exception using errcode = 'data_exception', message = 'one value is needed for each name';
  end if;
  insert into emq.queue (name) values (p_queue) on conflict on constraint queue_pk do nothing;
  update emq.queue q set
    lease = case when s ? 'lease'
      then coalesce(emq.finite('lease', (s ->> 'lease')::interval), '30 s') else q.lease end,
    max_attempts = case when s ? 'max_attempts' then coalesce((s ->> 'max_attempts')::smallint, 25)
                        else q.max_attempts end,
    max_stalled = case when s ? 'max_stalled' then coalesce((s ->> 'max_stalled')::smallint, 3)
                       else q.max_stalled end,
    max_active = case when s ? 'max_active' then (s ->> 'max_active')::int else q.max_active end,
    retention = case when s ? 'retention'
      then emq.finite('retention', (s ->> 'retention')::interval) else q.retention end,
    cancelled_retention = case when s ? 'cancelled_retention'
      then emq.finite('cancelled_retention', (s ->> 'cancelled_retention')::interval)
      else q.cancelled_retention end,
    dead_retention = case when s ? 'dead_retention'
      then emq.finite('dead_retention', (s ->> 'dead_retention')::interval)
      else q.dead_retention end,
    replay_within = case when s ? 'replay_within'
      then emq.finite('replay_within', (s ->> 'replay_within')::interval)
      else q.replay_within end,
    unknown_after = case when s ? 'unknown_after'
      then emq.finite('unknown_after', (s ->> 'unknown_after')::interval)
      else q.unknown_after end,
    quarantine = case when s ? 'quarantine' then s ->> 'quarantine' else q.quarantine end,
    quarantine_after = case when s ? 'quarantine_after' then (s ->> 'quarantine_after')::smallint
                            else q.quarantine_after end,
    on_dead = case when s ? 'on_dead' then s ->> 'on_dead' else q.on_dead end,
    on_dead_queue = case when s ? 'on_dead_queue' then s ->> 'on_dead_queue'
                         else q.on_dead_queue end
   where q.name = p_queue;
  if exists (select from emq.queue q where q.name = p_queue and q.quarantine is not null
               and coalesce(q.quarantine_after, 2) >= q.max_stalled) then
    raise exception using errcode = 'check_violation', constraint = 'queue_quarantine_after_ck',
      message = 'jobs of the queue would be dead before they are lost often enough';
  end if;
  insert into emq.audit (verb, queue, label, detail) values ('configure', p_queue, p_label, s);
exception when data_exception or check_violation then
  get stacked diagnostics v_broken = constraint_name;
  select obj_description(c.oid, 'pg_constraint') into v_said
    from pg_constraint c
   where c.conname = v_broken and c.conrelid in ('emq.queue'::regclass, 'emq.meta'::regclass);
  raise exception 'emq: a setting of the queue % cannot be: %', p_queue, coalesce(v_said, sqlerrm)
    using errcode = 'EQ006', hint = 'Look at the settings that were given: ' || s::text;
end $$;
revoke all on function emq.set_queue from public;
