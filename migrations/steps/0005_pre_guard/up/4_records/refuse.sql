-- Promise: records one refusal for each id that was answered lost, as record_refusals does; never raises.
-- Parameters: p_ids, p_fences, p_answers in step; p_verb the verb that was refused.
-- Locks: none on the ledger.
-- Index: those of record_refusals.
create or replace function emq.refuse(p_ids uuid[], p_fences bigint[], p_answers text[], p_verb text)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ids uuid[];
  v_fences bigint[];
begin
  select array_agg(k.id), array_agg(k.fence) into v_ids, v_fences
    from unnest(p_ids, p_fences, p_answers) as k (id, fence, answer)
   where k.answer = 'lost' and k.id is not null;
  if v_ids is not null then
    perform emq.record_refusals(
      v_ids, v_fences, array_fill(p_verb, array[cardinality(v_ids)]), null);
  end if;
end $$;
