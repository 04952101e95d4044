-- Promise: the effect of one run, in the caller's transaction.
-- Parameters: cell, job_id, attempts, pid.
-- Locks: none but that of the new row.
-- Index: none.
insert into emq.lab_effect (cell, job_id, attempts, pid)
values (%(cell)s, %(job_id)s, %(attempts)s, %(pid)s)
