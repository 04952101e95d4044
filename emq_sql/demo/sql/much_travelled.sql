-- Promise: the job that was claimed most often; of several, the one that was enqueued first.
-- Parameters: none.
-- Locks: none.
-- Index: archive is scanned.
select r.id from emq.archive r order by r.attempts desc, r.id limit 1
