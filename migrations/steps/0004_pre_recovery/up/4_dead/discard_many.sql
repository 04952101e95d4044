-- Promise: of the dead letters that a filter chooses, one chunk in the order of their deaths is given
--   up: each goes to the archive, so that its envelope is retired like any other and its id stays a
--   duplicate until then. Permanent failures and queues that never replay are no exception. A reason is
--   needed (EQ006). Never waits: busy counts what another transaction holds. Audited, a row for
--   each, with the reason as its label and the error whole.
-- Parameters: p_filter (see dead_where.sql; '{}' for all); p_reason; p_limit letters looked at; p_after
--   null for the first chunk, then what the last one answered in `next` (null there: that was all).
-- Locks: FOR UPDATE SKIP LOCKED on the dead rows.
-- Index: those of dead_matching; dead_pk.
create function emq.discard_many(
  p_filter jsonb, p_reason text, p_limit int default 500, p_after jsonb default null,
  out discarded int, out busy int, out next jsonb
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_left uuid[];
begin
  if coalesce(p_reason, '') !~ '\S' then
    raise exception 'emq: dead letters are discarded for a reason, and none is given'
      using errcode = 'EQ006', hint = 'Say why: it is what the audit keeps.';
  end if;
  with m as materialized (
    select * from emq.dead_matching(p_filter, false, p_limit, p_after)
  ), x as materialized (
    select m.id from m
     cross join lateral (select 1 from emq.dead d where d.id = m.id for update skip locked) l
  ), d as (
    delete from emq.dead d using x where d.id = any (array[x.id]) returning d.*
  ), i as (
    insert into emq.archive (id, finished_at, attempts, stalled, failures, status, queue, worker)
    select d.id, clock_timestamp(), d.attempts, d.stalled, d.failures, 'discarded', d.queue, d.worker
      from d
  ), u as (
    insert into emq.audit (verb, queue, id, label, detail)
    select 'discard', d.queue, d.id, p_reason,
           jsonb_build_object('reason', d.reason, 'error', d.error)
      from d
  )
  select (select count(*) from d),
         array_agg(m.id) filter (where not m.id = any (array(select d.id from d))),
         case when count(*) = p_limit
              then (array_agg(jsonb_build_object('died_at', m.died_at, 'id', m.id)
                              order by m.died_at desc, m.id desc))[1] end
    into discarded, v_left, next
    from m;
  select count(*) into busy from emq.dead d where d.id = any (v_left);
end $$;
revoke all on function emq.discard_many from public;
