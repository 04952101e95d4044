-- Promise: of these cells, in step: whether the job is settled and the lease of its first run is over,
--   and whether that first run has ended.
-- Parameters: cells, jobs in step.
-- Locks: none.
-- Index: archive_id_idx, dead_pk, lab_run_pk.
select c.cell,
       (exists (select from emq.archive r where r.id = c.job_id)
        or exists (select from emq.dead d where d.id = c.job_id))
       and coalesce(f.lease_deadline < clock_timestamp(), true) as settled,
       f.ended is not null as ended
  from unnest(%(cells)s::int[], %(jobs)s::uuid[]) as c (cell, job_id)
  left join emq.lab_run f on f.cell = c.cell and f.attempts = 1
