-- Promise: one run has begun.
-- Parameters: cell, attempts, pid, lease_deadline.
-- Locks: none but that of the new row.
-- Index: lab_run_pk.
insert into emq.lab_run (cell, attempts, pid, lease_deadline)
values (%(cell)s, %(attempts)s, %(pid)s, %(lease_deadline)s)
