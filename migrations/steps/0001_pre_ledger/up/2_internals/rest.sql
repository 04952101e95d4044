-- Promise: what to say of the ids of a call that were not all done: busy (still held under that
--   fence, so its row was locked: ask again), done (by an earlier completion under the same fence)
--   or lost. Lost ones are recorded.
-- Parameters: p_ids, p_fences as given; p_done, p_donef what the verb did; p_verb its name.
-- Locks: none.
-- Index: active_pk, then archive_id_idx of a few partitions.
-- The ledger is read first and the archive in the same or a later snapshot: a completion that
-- commits in between is seen in one of them. The other order could call it lost.
-- Pairs are compared, not ids: a stale fence may stand beside the good one in a call.
create function emq.rest(
  p_ids uuid[], p_fences bigint[], p_done uuid[], p_donef bigint[], p_verb text
) returns text[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  r text[];
  v_arch uuid[];
  v_archf bigint[];
begin
  select array_agg(
           case when (k.id, k.fence) in (select * from unnest(p_done, p_donef)) then 'done'
                when a.fence = k.fence then 'busy'
                else 'lost' end order by k.i)
    into r
    from unnest(p_ids, p_fences) with ordinality as k (id, fence, i)
    left join lateral (select y.fence from emq.active y where y.id = k.id offset 0) a on true;

  if p_verb = 'complete' and 'lost' = any (r) then
    select array_agg(x.id), array_agg(x.fence) into v_arch, v_archf
      from emq.archived((select array_agg(k.id) from unnest(p_ids, r) as k (id, answer)
                          where k.answer = 'lost')) x
     where x.status = 'completed';
    if v_arch is not null then
      select array_agg(
               case when k.answer = 'lost'
                     and (k.id, k.fence) in (select * from unnest(v_arch, v_archf)) then 'done'
                    else k.answer end order by k.i)
        into r
        from unnest(p_ids, p_fences, r) with ordinality as k (id, fence, answer, i);
    end if;
  end if;

  if 'lost' = any (r) then
    perform emq.refuse(p_ids, p_fences, r, p_verb);
  end if;
  return r;
end $$;
