-- Promise: how many of these claims tried to complete and were refused.
-- Parameters: ids, fences in step.
-- Locks: none.
-- Index: refusal_id_idx.
select count(distinct (r.id, r.fence)) as refused
  from unnest(%(ids)s::uuid[], %(fences)s::bigint[]) as h (id, fence)
  join emq.refusal r on r.id = h.id and r.fence = h.fence and r.verb = 'complete'
