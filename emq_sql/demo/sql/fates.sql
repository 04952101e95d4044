-- Promise: what became of claims that a worker held: the seconds left if it holds them still; when
--   the job was first in other hands, or settled; who finished it (itself, another, nobody: dead).
-- Parameters: ids, fences in step.
-- Locks: none.
-- Index: active_pk, attempt_id_idx, archive_id_idx, dead_pk.
-- Fences of one job grow with each claim, so a greater one is a later claim.
select h.id, h.fence,
       (select extract(epoch from a.lease_deadline - clock_timestamp())::float8
          from emq.active a where a.id = h.id and a.fence = h.fence) as seconds_left,
       n.at as recovered_at,
       e.finished_by
  from unnest(%(ids)s::uuid[], %(fences)s::bigint[]) as h (id, fence)
  cross join lateral (
    select min(x.at) as at
      from (select a.claimed_at as at from emq.active a where a.id = h.id and a.fence > h.fence
            union all
            select t.claimed_at from emq.attempt t where t.id = h.id and t.fence > h.fence
            union all
            select r.claimed_at from emq.archive r where r.id = h.id and r.fence > h.fence
            union all
            select r.finished_at from emq.archive r where r.id = h.id and r.fence = h.fence
            union all
            select d.died_at from emq.dead d where d.id = h.id) x) n
  left join lateral (
    select case when r.fence = h.fence then 'itself' else 'another' end as finished_by
      from emq.archive r where r.id = h.id
    union all
    select 'nobody' from emq.dead d where d.id = h.id
    limit 1) e on true
