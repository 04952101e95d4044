-- Promise: how far it is: files with a job, results, jobs that wait, jobs in flight.
-- Parameters: none.
-- Locks: none.
-- Index: counts by scan of small tables.
select (select count(*) from demo.file) as enqueued,
       (select count(*) from demo.result) as done,
       (select count(*) from emq.pending) + (select count(*) from emq.scheduled) as waiting,
       (select count(*) from emq.active) as in_flight
