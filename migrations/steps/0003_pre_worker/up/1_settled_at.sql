-- When the newest row of the register was written: the instant of the last pass of maintain.
-- Locks: ACCESS EXCLUSIVE on emq.settled for an instant; without a default at first, so that no row
-- is rewritten.
alter table emq.settled add column at timestamptz;
alter table emq.settled alter column at set default clock_timestamp();
