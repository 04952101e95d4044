-- Promise: the in-flight list with the names of the files, in the order of claiming.
-- Parameters: none.
-- Locks: none.
-- Index: active is read whole, it has a row for each busy slot; active_pk, job_pk, file_pk.
select l.id, a.fence, l.task, l.worker, l.attempts, l.running_seconds, l.seconds_left,
       l.lease_state, f.path
  from emq.ledger l
  join emq.active a on a.id = l.id
  left join demo.file f on f.job_id = l.id
 order by l.claimed_at, l.id
 limit 1000
