-- Promise: a copy of a database becomes one of its own, in which workers may run: it gets this tag, this
--   home and a new ledger_id, and forgets the workers of the original. Of its jobs
--     run        all stay as they are
--     hold       all stay, and each queue that has jobs, or gets those that die, is paused
--     discard    what waits or runs is cancelled and what is dead discarded first, in batches
--   Leases that the original's workers had end by themselves (run, hold) or now (discard). Answers more
--   (only of discard: call again, nothing is adopted yet) | busy (an open transaction has what is left:
--   ask again) | workers (sessions of emq_sql are at work here, so nothing is done: is it a copy?) |
--   done. Audited.
-- Parameters: p_environment, the tag, null for none; p_what; p_limit jobs a batch; p_label.
-- Locks: those of drain, cancel and discard; the meta row.
-- Index: those of drain, cancel and discard. The queues that have jobs are found by scan.
create function emq.adopt(
  p_environment text, p_what text, p_limit int default 1000, p_label text default null,
  out status text, out cancelled int, out discarded int, out paused text[]
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limit int := greatest(coalesce(p_limit, 1000), 1);
  v_queue text;
  v_id uuid;
  m emq.meta;
begin
  if p_what is null or p_what not in ('run', 'hold', 'discard') then
    raise exception 'emq: % is no way to adopt a database', quote_nullable(left(p_what, 100))
      using errcode = 'EQ006', hint = 'Say run, hold or discard.';
  end if;
  if p_environment = '' then
    raise exception 'emq: an environment has a name that is not empty'
      using errcode = 'EQ006', hint = 'Give null for no tag.';
  end if;
  cancelled := 0;
  discarded := 0;
  paused := '{}';
  if exists (select from pg_stat_activity s
              where s.datname = current_database() and s.pid <> pg_backend_pid()
                and s.application_name like 'emq %') then
    status := 'workers';
    return;
  end if;

  if p_what = 'discard' then
    select x.queue into v_queue
      from ((select p.queue from emq.pending p limit 1)
            union all (select s.queue from emq.scheduled s limit 1)) x limit 1;
    if v_queue is not null then
      select d.cancelled into cancelled from emq.drain(v_queue, v_limit, true, null, p_label) d;
      status := case when cancelled > 0 then 'more' else 'busy' end;
      return;
    end if;
    for v_id in select a.id from emq.active a limit v_limit loop
      cancelled := cancelled + (emq.cancel(v_id, p_label) = 'done')::int;
    end loop;
    for v_id in select d.id from emq.dead d limit v_limit - cancelled loop
      discarded := discarded + (emq.discard(v_id, p_label) = 'done')::int;
    end loop;
    if exists (select from emq.active) or exists (select from emq.dead) then
      status := case when cancelled + discarded > 0 then 'more' else 'busy' end;
      return;
    end if;
  elsif p_what = 'hold' then
    with q as (
      select p.queue as name from emq.pending p
      union select s.queue from emq.scheduled s
      union select a.queue from emq.active a
      union select d.queue from emq.dead d
    ), p as (
      insert into emq.queue as y (name, paused)
      select u.name, true
        from (select q.name from q
              union select y.quarantine from emq.queue y
              union select y.on_dead_queue from emq.queue y) u
       where u.name is not null
       order by 1
      on conflict on constraint queue_pk do update set paused = true
      returning y.name
    )
    select coalesce(array_agg(p.name order by p.name), '{}') into paused from p;
  end if;

  select x.* into m from emq.meta x for update;
  update emq.meta x
     set environment = p_environment, home = emq.here(), ledger_id = gen_random_uuid();
  delete from emq.worker;
  insert into emq.audit (verb, label, detail)
  values ('adopt', p_label, jsonb_build_object(
    'what', p_what, 'paused', paused, 'environment', p_environment,
    'was', jsonb_build_object('environment', m.environment, 'home', m.home, 'ledger_id', m.ledger_id)));
  status := 'done';
end $$;
revoke all on function emq.adopt from public;
