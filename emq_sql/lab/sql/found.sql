-- Promise: what became of each cell, all in one snapshot: how often its effect is there, whether its
--   job is complete, how often it was claimed, and how many stale calls of its first run were refused.
-- Parameters: cells, jobs in step.
-- Locks: none.
-- Index: archive_id_idx, refusal_id_idx; effects and runs are scanned, they are few.
select c.cell,
       (select count(*) from emq.lab_effect e where e.cell = c.cell) as effects,
       exists (select from emq.archive r where r.id = c.job_id and r.status = 'completed') as completed,
       (select count(*) from emq.lab_run u where u.cell = c.cell) as runs,
       (select u.ended from emq.lab_run u where u.cell = c.cell and u.attempts = 1) as first_ended,
       (select count(*) from emq.refusal f where f.id = c.job_id) as refusals
  from unnest(%(cells)s::int[], %(jobs)s::uuid[]) as c (cell, job_id)
 order by c.cell
