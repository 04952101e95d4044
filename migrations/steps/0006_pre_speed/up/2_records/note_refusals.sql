-- Promise: records refusals that a transaction of the user's met, which were rolled back with it: only
--   of claims that are over, so nothing false is said of a live one; what has no id or no fence is no
--   claim, and left out. Answers how many. Never raises, whatever is given.
-- Parameters: p_ids, p_fences, p_verbs in step; p_ago, in step: how long ago each was met; p_again: the
--   answer to a first try was lost, so what is on record of the same claim and verb at about the same
--   instant is not recorded again.
-- Locks: none on the ledger.
-- Index: active_pk, refusal_id_idx, then those of record_refusals.
create or replace function emq.note_refusals(
  p_ids uuid[], p_fences bigint[], p_verbs text[], p_ago interval[], p_again boolean default false
) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_ids uuid[];
  v_fences bigint[];
  v_verbs text[];
  v_at timestamptz[];
begin
  select array_agg(k.id), array_agg(k.fence), array_agg(k.verb), array_agg(k.at)
    into v_ids, v_fences, v_verbs, v_at
    from (select u.id, u.fence, coalesce(left(u.verb, 40), 'unknown') as verb,
                 clock_timestamp()
                 - least(greatest(coalesce(u.ago, '0'), interval '0'), interval '1 year') as at
            from unnest(p_ids, p_fences, p_verbs, p_ago) as u (id, fence, verb, ago)
           where u.id is not null and u.fence is not null) k
    left join lateral (select y.fence from emq.active y where y.id = k.id offset 0) a on true
   where a.fence is distinct from k.fence
     and not (coalesce(p_again, false) and exists (
       select from emq.refusal r
        where r.id = k.id and r.fence = k.fence and r.verb = k.verb
          and r.at between k.at - interval '1 min' and k.at + interval '1 min'));
  if v_ids is null then
    return 0;
  end if;
  return emq.record_refusals(v_ids, v_fences, v_verbs, v_at);
end $$;
revoke all on function emq.note_refusals from public;
