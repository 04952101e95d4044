-- Promise: records one refusal for each id that was answered lost; never raises.
-- Parameters: p_ids, p_fences, p_answers in step; p_verb the verb that was refused.
-- Locks: none on the ledger.
-- Index: active_pk.
create function emq.refuse(p_ids uuid[], p_fences bigint[], p_answers text[], p_verb text)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  insert into emq.refusal (id, fence, held, verb)
  select k.id, k.fence, (select a.fence from emq.active a where a.id = k.id), p_verb
    from unnest(p_ids, p_fences, p_answers) as k (id, fence, answer)
   where k.answer = 'lost' and k.id is not null;
end $$;
