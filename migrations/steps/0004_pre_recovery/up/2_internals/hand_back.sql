-- Promise: gives held jobs back, fenced: only what is still held under that fence, each as its end
--   says (see end_runs.sql). Answers pending | scheduled | dead (done, and where it is now) | lost |
--   busy, in the order given; never waits. Lost ones are recorded under the verb.
-- Parameters: p_verb; p_ends, p_ids, p_fences in step; p_delays null or in step (none or zero: into
--   the line at once); p_errors null or in step.
-- Locks: FOR UPDATE SKIP LOCKED on the ledger rows, in id order.
-- Index: active_pk. `a.id = any (array[x.id])` is not merge-joinable, so the planner cannot flip to a
--   full scan of active_pk when statistics say that the table is empty.
create function emq.hand_back(
  p_verb text, p_ends text[], p_ids uuid[], p_fences bigint[], p_delays interval[], p_errors text[]
) returns text[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_runs emq.active[];
  v_ends text[];
  v_delays interval[];
  v_errors text[];
  v_where text[];
  v_rest text[];
  r uuid[];
  rf bigint[];
begin
  with k as (
    select u.* from unnest(p_ids, p_fences, p_ends, p_delays, p_errors)
        as u (id, fence, ended, delay, error)
     order by 1
  ), x as materialized (
    select k.* from k
     cross join lateral (select 1 from emq.active a
                          where a.id = k.id and a.fence = k.fence for update skip locked) l
  ), d as (
    delete from emq.active a using x
     where a.id = any (array[x.id]) and a.fence = x.fence
    returning a as run, a.id, a.fence, x.ended, x.delay, x.error
  )
  select array_agg(d.run), array_agg(d.id), array_agg(d.fence), array_agg(d.ended),
         array_agg(d.delay), array_agg(d.error)
    into v_runs, r, rf, v_ends, v_delays, v_errors
    from d;
  if r is not null then
    v_where := emq.end_runs(v_runs, v_ends, v_delays, v_errors);
  end if;

  if cardinality(r) = cardinality(p_ids) then
    v_rest := array_fill('done'::text, array[cardinality(p_ids)]);
  else
    v_rest := emq.rest(p_ids, p_fences, r, rf, p_verb);
  end if;
  return (
    select coalesce(array_agg(
             coalesce(case when k.answer = 'done' then v_where[array_position(r, k.id)] end, k.answer)
             order by k.i), '{}')
      from unnest(p_ids, v_rest) with ordinality as k (id, answer, i));
end $$;
revoke all on function emq.hand_back from public;
