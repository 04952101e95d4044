-- Holds: of a dead letter, its task, who held it last, and the fingerprint of its error, so that
-- they can be grouped without a look at each envelope. Null in rows of before.
-- Locks: ACCESS EXCLUSIVE on emq.dead for an instant, and SHARE while its index is made.
alter table emq.dead
  add column task text,
  add column worker text,
  add column fingerprint text;
-- A step is one statement, so it cannot be made concurrently; dead letters are few.
-- squawk-ignore require-concurrent-index-creation
create index dead_died_at_idx on emq.dead (died_at, id);
