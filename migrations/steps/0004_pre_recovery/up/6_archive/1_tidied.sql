-- Holds: how far retention has come. `tidied`: up to which day the archive is done for the jobs of a
-- queue that ended in one kind, completed or not, where these are kept for less than the longest. The
-- queue '*' stands for all that say nothing of their own. `day` is the one that is being visited now.
-- `tidying`: of a table that is visited in id order, how far a pass has come, how many rows it took
-- away, and when the last one ended.
create table emq.tidied (
  queue text collate "C" not null,
  completed boolean not null,
  retention interval not null,
  through date not null default '-infinity',
  day date,
  constraint tidied_pk primary key (queue, completed)
);
create table emq.tidying (
  what text collate "C" constraint tidying_pk primary key,
  upto uuid,
  gone bigint not null default 0,
  ended_at timestamptz
);
revoke all on emq.tidied, emq.tidying from public;

-- Dead letters of a queue, oldest first: what a queue's dead_retention looks for. They are few.
-- squawk-ignore require-concurrent-index-creation
create index dead_queue_died_at_idx on emq.dead (queue, died_at);
