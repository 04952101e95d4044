-- Promise: one pass of upkeep: promote, reap, the floors, partitions ahead. Idempotent and cheap
--   when there is nothing to do: what a worker, pg_cron, `emq maintain` or psql calls about once a
--   second. `ran` is false when another session is at it.
-- Parameters: p_limit rows for promote and for reap.
-- Locks: a transaction-level advisory lock on this ledger, tried, never waited for.
-- Index: those of promote and reap; active_deadline_idx and scheduled_pk up to the mark.
--
-- The published floors. A mark t counts once everyone who held RowExclusiveLock on the hot tables
-- when t was read has ended (the argument of CREATE INDEX CONCURRENTLY). It is exact because every
-- writer reads the clock inside the statement that already holds the table lock. The floor is the
-- first row visible in a later snapshot below t, else t. A mark w of ord_seq works the same way for
-- the floors of claim. 2 s of slack are for small steps of the clock; a mark in the future (the
-- clock went back, the sequence was set back) starts afresh, and so does a table without its row.
-- After a restart a prepared transaction has lost its backend's name in pg_locks, so any `-1/xid`
-- holder is waited for.
-- A clock that went back and has caught up before the next pass leaves no trace, and the leases given
-- meanwhile may end below a floor. So now and then the floors are sought anew; under a pinned
-- horizon that one pass walks the dead rows.
create function emq.maintain(
  p_limit int default 1000,
  out ran boolean, out promoted int, out recovered int, out dead int
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  s emq.settled;
  v_now timestamptz;
  v_open boolean;
  v_hi bigint;
  v_rels oid[] := array['emq.pending'::regclass::oid, 'emq.active'::regclass::oid,
                        'emq.scheduled'::regclass::oid];
begin
  ran := pg_try_advisory_xact_lock(7305, 'emq.settled'::regclass::oid::int);
  if not ran then
    return;
  end if;
  promoted := emq.promote(p_limit);
  select r.recovered, r.dead into recovered, dead from emq.reap(p_limit) r;
  perform emq.archive_days(3);
  delete from emq.worker w where w.seen_at < clock_timestamp() - interval '1 day';
  if current_setting('transaction_isolation') <> 'read committed' then
    return;
  end if;

  select x.* into s from emq.settled x order by x.n desc limit 1;
  select q.last_value into v_hi from emq.ord_seq q;
  if s.n is null then
    s.t := '-infinity';
  end if;
  -- 0. Every ten minutes, and at first, the floors are sought from the bottom.
  if s.n is null or s.cand_t is null
     or div(extract(epoch from s.cand_t), 600) <> div(extract(epoch from clock_timestamp()), 600) then
    s.reap_from := '-infinity';
    s.promote_from := '-infinity';
  end if;
  if s.n is null or s.w > v_hi or s.cand_w > v_hi then
    s.w := 0;
    s.cand_w := null;
  end if;
  -- 1. Who wrote before the candidate was drawn, and has not ended?
  v_open := s.cand_w is null or exists (
    select 1 from pg_locks l
     where l.relation = any (v_rels) and l.mode = 'RowExclusiveLock'
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
       and (l.virtualtransaction = any (s.holders) or l.virtualtransaction like '-1/%'));
  if not v_open then
    s.w := greatest(s.w, s.cand_w);
    s.t := s.cand_t - interval '2 s';
  end if;
  -- 2. The floors, in a snapshot taken after that. The search stops at the mark: beyond it lie the
  --    dead entries of a whole lease's worth of finished jobs.
  v_now := clock_timestamp();
  if s.t > v_now or s.cand_t > v_now then
    s.t := '-infinity';
    s.reap_from := '-infinity';
    s.promote_from := '-infinity';
    s.cand_w := null;
  else
    select coalesce((select a.lease_deadline from emq.active a
                      where a.lease_deadline >= s.reap_from and a.lease_deadline < s.t
                      order by a.lease_deadline limit 1), greatest(s.reap_from, s.t)),
           coalesce((select c.run_at from emq.scheduled c
                      where c.run_at >= s.promote_from and c.run_at < s.t
                      order by c.run_at limit 1), greatest(s.promote_from, s.t))
      into s.reap_from, s.promote_from;
  end if;
  -- 3. The next candidate: the marks first, then the list of holders.
  if not v_open or s.cand_w is null then
    select q.last_value into s.cand_w from emq.ord_seq q;
    s.cand_t := clock_timestamp();
    select coalesce(array_agg(distinct l.virtualtransaction), '{}') into s.holders
      from pg_locks l
     where l.relation = any (v_rels) and l.mode = 'RowExclusiveLock'
       and l.pid is distinct from pg_backend_pid();
  end if;
  insert into emq.settled (w, t, reap_from, promote_from, cand_w, cand_t, holders)
  values (s.w, s.t, s.reap_from, s.promote_from, s.cand_w, s.cand_t, s.holders);
  delete from emq.settled x where x.n = s.n;
end $$;
