-- Promise: takes back what one worker holds, alive or not, up to p_limit jobs: each goes to the head of
--   its level, nothing is counted, and from that commit on the worker can commit nothing for it.
--   Answers how many, and how many it still holds when that was not all: those are in an open
--   transaction (ask again), or were claimed since. Call again while `released` is p_limit. Audited.
-- Parameters: p_worker, a name as the ledger shows it; p_limit; p_label.
-- Locks: FOR UPDATE SKIP LOCKED on the ledger rows.
-- Index: active_deadline_idx from reap's published floor: the ledger is walked, being small.
create function emq.release_worker(
  p_worker text, p_limit int default 1000, p_label text default null,
  out released int, out busy int
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_limit int := greatest(coalesce(p_limit, 1000), 1);
  v_runs emq.active[];
  v_from timestamptz;
begin
  v_from := coalesce((select case when s.t > clock_timestamp() then '-infinity' else s.reap_from end
                        from emq.settled s order by s.n desc limit 1), '-infinity');
  with x as materialized (
    select a.id, a.fence from emq.active a
     where a.lease_deadline >= v_from and a.worker = p_worker
     order by a.lease_deadline limit v_limit
     for update skip locked
  ), d as (  -- by key: follows an extend that committed after the snapshot, where a ctid would not
    delete from emq.active a using x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a as run, a.claimed_at, a.id
  )
  select array_agg(d.run order by d.claimed_at, d.id) into v_runs from d;
  released := coalesce(cardinality(v_runs), 0);
  if released > 0 then
    perform emq.end_runs(v_runs, array_fill('release'::text, array[released]));
  end if;
  busy := 0;
  if released < v_limit then
    select count(*) into busy from emq.active a
     where a.lease_deadline >= v_from and a.worker = p_worker;
  end if;
  if released > 0 then
    insert into emq.audit (verb, label, detail)
    values ('release_worker', p_label,
            jsonb_build_object('worker', p_worker, 'released', released, 'busy', busy));
  end if;
end $$;
revoke all on function emq.release_worker from public;
