-- Promise: the account of a run, read from the tables alone.
-- Parameters: none: everything in this ledger is the demo's.
-- Locks: none; one statement, so one snapshot.
-- Index: scans, joins on primary keys.
-- Lost is a file whose job waits nowhere, runs nowhere, is no dead letter and has no result beside
-- its completion. Stale is a result under another fence than the one that completed the job.
select
  (select count(*) from demo.file) as files,
  (select count(*) from emq.job) as enqueued,
  (select count(*) from emq.job j
    where not exists (select from demo.file f where f.job_id = j.id)) as without_file,
  (select count(*) from emq.archive r where r.status = 'completed') as completed,
  (select count(*) from emq.pending) + (select count(*) from emq.scheduled)
    + (select count(*) from emq.active) as unfinished,
  (select count(*) from emq.dead) as dead,
  (select count(*) from demo.file f
    where not exists (select from emq.pending p where p.id = f.job_id)
      and not exists (select from emq.scheduled s where s.id = f.job_id)
      and not exists (select from emq.active a where a.id = f.job_id)
      and not exists (select from emq.dead d where d.id = f.job_id)
      and not exists (select from emq.archive r
                        join demo.result m on m.job_id = r.id
                       where r.id = f.job_id and r.status = 'completed')) as lost,
  (select count(*) from (select m.path from demo.result m
                          group by m.path having count(*) > 1) t) as twice,
  (select count(*) from demo.result m
    where not exists (select from emq.archive r
                       where r.id = m.job_id and r.fence = m.fence)) as stale,
  (select count(*) from emq.misplaced) as misplaced,
  (select count(*) from emq.archive r where r.attempts > 1) as redelivered,
  (select count(distinct (r.id, r.fence)) from emq.refusal r where r.verb = 'complete') as refused,
  (select count(*) from demo.result m where m.error is not null) as with_error,
  (select count(*) from demo.result m where m.functions is not null) as python,
  (select coalesce(sum(m.lines), 0)::bigint from demo.result m) as lines,
  (select coalesce(sum(m.functions), 0)::bigint from demo.result m) as functions,
  (select coalesce(sum(m.classes), 0)::bigint from demo.result m) as classes,
  (select count(distinct m.measured_by) from demo.result m) as processes,
  (select extract(epoch from max(r.finished_at) - min(j.enqueued_at))::float8
     from emq.archive r join emq.job j on j.id = r.id) as seconds
