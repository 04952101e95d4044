-- Promise: one run has ended, and how.
-- Parameters: cell, attempts, ended.
-- Locks: the row of the run.
-- Index: lab_run_pk.
update emq.lab_run set ended = %(ended)s where cell = %(cell)s and attempts = %(attempts)s
