-- Promise: up to p_n pending jobs, best rank first, become active with attempts + 1 and a lease on
--   clock_timestamp(); nothing of a paused queue, even by a cached plan. A queue with max_active
--   never has more than that many active: a job that is lost counts until it is reaped, and no
--   longer. A short answer is no error.
-- Parameters: p_queue; p_n (null or less than 1: none); p_worker, who will hold them; p_nonce, drawn
--   at random by the caller for this call (40 bits count); p_lease for jobs that name none, the
--   queue's when null.
-- Locks: FOR UPDATE SKIP LOCKED on the rows taken. With max_active also an advisory lock of the
--   queue, tried: who does not get it gets nothing this time, and the count is exact.
-- Index: pending_pk, one probe a rank, each from its floor. With max_active the ledger is walked to
--   count. The outer LIMIT stops at the rank that fills the batch. Rows of pending are never updated, so a delete by ctid is right here.
--
-- The floor. Under a pinned horizon the dead rows of claimed jobs stay in the index, and a scan
-- from its start would walk them all. floor(rank) is the lowest ord that can still hold a live row:
--   least(first row visible in snapshot S, settled mark valid in S).
-- It is exact or it loses jobs. A mark `hi` (ord_seq.last_value, read before the own xid is taken)
-- is settled once a later snapshot's xmin has passed that xid: whoever drew an ord <= hi took an
-- older xid first (the default of pending.ord sees to it), so each such ord is then decided.
-- `maintain` settles marks another way, for sessions that never see such a snapshot.
-- Floors live in a session variable named by the queue in hex: filenode : settled : candidate : its
-- xid : floors of rank 0..9. It is transactional, so a rolled-back claim takes them back, and the
-- filenode makes TRUNCATE start afresh, as a mark above the sequence does (a restore or a replica
-- that left its value out). A stale floor is only lower; a new session starts at 0.
create or replace function emq.claim(
  p_queue text, p_n int, p_worker text, p_nonce bigint, p_lease interval default null
)
returns table (
  id uuid, fence bigint, attempts int, stalled int, failures int, lease_deadline timestamptz,
  lease_ms int, task text, payload jsonb, headers jsonb, enqueued_at timestamptz
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  v_nonce bigint := p_nonce & 1099511627775;
  v_var text := 'emq.f' || encode(convert_to(p_queue, 'UTF8'), 'hex');
  v_gen bigint := pg_relation_filenode('emq.pending');
  v_lease interval;
  v_lease_ms int;
  v_paused boolean;
  v_most int;
  v_n int := p_n;
  v_s bigint[];
  v_hi bigint;
  v_x record;
begin
  select q.paused, q.lease, q.max_active into v_paused, v_lease, v_most
    from emq.queue q where q.name = p_queue;
  if v_paused or p_n is null or p_n < 1 then  -- LIMIT null would be no limit
    return;
  end if;
  if v_most is not null then
    if not pg_try_advisory_xact_lock(
             7310, hashtext('emq.settled'::regclass::oid::text || '/' || p_queue)) then
      return;
    end if;
    select least(p_n, v_most - count(*)) into v_n from emq.active a where a.queue = p_queue;
    if v_n < 1 then
      return;
    end if;
  end if;
  v_lease_ms := (extract(epoch from coalesce(p_lease, v_lease, interval '30 s')) * 1000)::int;

  v_s := string_to_array(current_setting(v_var, true), ':')::bigint[];
  if v_s[1] is distinct from v_gen then
    v_s := array[v_gen, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  end if;
  -- Upkeep of the floors: each call for batches and in a fresh session, else one call in sixteen.
  -- It needs a snapshot for each statement, and an xid that is assigned after hi was read.
  if (p_n >= 10 or v_s[2] = 0 or random() < 0.0625)
     and current_setting('transaction_isolation') = 'read committed'
     and pg_current_xact_id_if_assigned() is null then
    select s.last_value into v_hi from emq.ord_seq s;
    if v_s[2] > v_hi then  -- the sequence was set back: these floors are of its former life
      v_s := array[v_gen, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    end if;
    select m.xmin, y.settled,
           array(select greatest(p.f, least(y.settled, coalesce(
                   (select r.ord from emq.pending r
                     where r.queue = p_queue and r.rank = (p.i - 1)::smallint and r.ord >= p.f
                     order by r.ord limit 1), 9223372036854775807)))
                   from unnest(v_s[5:14]) with ordinality as p (f, i)) as floors
      into v_x
      from (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xmin,
                   (select x.w from emq.settled x order by x.n desc limit 1) as w offset 0) m
      cross join lateral (
        select greatest(v_s[2], case when m.w <= v_hi then m.w end,
                        case when m.xmin > v_s[4] then v_s[3] end) as settled
        offset 0) y;
    if v_x.xmin > v_s[4] then
      v_s[3] := v_hi;
      v_s[4] := pg_current_xact_id()::text::bigint;
    end if;
    v_s := array[v_s[1], v_x.settled, v_s[3], v_s[4]] || v_x.floors;
    perform set_config(v_var, array_to_string(v_s, ':'), false);
  end if;

  return query
  with x as materialized (
    select l.c
      from unnest(v_s[5:14]) with ordinality as p (f, i)
      cross join lateral (
        select r.ctid as c from emq.pending r
         where r.queue = p_queue and r.rank = (p.i - 1)::smallint and r.ord >= p.f
         order by r.ord limit v_n
         for update skip locked) l
     -- asked again in this statement's own snapshot: a pause that has committed holds
     where not exists (select 1 from emq.queue q where q.name = p_queue and q.paused)
     limit v_n
  ), d as (
    delete from emq.pending r using x where r.ctid = x.c
    returning r.id, r.attempts, r.lease_ms, r.rank, r.stalled, r.failures
  ), a as (
    insert into emq.active
      (id, fence, lease_deadline, claimed_at, queue, attempts, lease_ms, rank, stalled, failures, worker)
    select d.id, ((d.attempts + 1)::bigint << 40) | v_nonce,
           clock_timestamp() + coalesce(d.lease_ms, v_lease_ms) * interval '1 ms', clock_timestamp(),
           p_queue, d.attempts + 1, coalesce(d.lease_ms, v_lease_ms), d.rank, d.stalled, d.failures,
           p_worker
      from d
    returning id, fence, attempts, stalled, failures, lease_deadline, lease_ms
  )
  select a.id, a.fence, a.attempts, a.stalled::int, a.failures::int, a.lease_deadline, a.lease_ms,
         j.task, j.payload, j.headers, j.enqueued_at
    from a
    cross join lateral (select y.task, y.payload, y.headers, y.enqueued_at
                          from emq.job y where y.id = a.id offset 0) j;
end $$;
revoke all on function emq.claim from public;
