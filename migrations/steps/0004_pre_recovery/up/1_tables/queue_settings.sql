-- Holds: what a queue may say of jobs that went wrong, of history, and of how many run at once.
-- Null is the default in each: no limit, keep until somebody acts, replay at any age.
-- Locks: ACCESS EXCLUSIVE on emq.queue for an instant; nothing is rewritten.
alter table emq.queue
  add column max_active int
    constraint queue_max_active_ck check (max_active > 0),
  add column cancelled_retention interval
    constraint queue_cancelled_retention_ck check (cancelled_retention > interval '0'),
  add column dead_retention interval
    constraint queue_dead_retention_ck check (dead_retention > interval '0'),
  add column replay_within interval  -- null: at any age; zero: never
    constraint queue_replay_within_ck check (replay_within >= interval '0'),
  add column unknown_after interval  -- jobs of a task that nobody knows are dead letters then
    constraint queue_unknown_after_ck check (unknown_after > interval '0'),
  add column quarantine text collate "C"
    constraint queue_quarantine_ck check (
      quarantine ~ '^[a-z0-9][a-z0-9_.:-]{0,62}$' and quarantine <> name),
  add column quarantine_after smallint
    constraint queue_quarantine_after_ck check (quarantine_after > 0),
  add column on_dead text
    constraint queue_on_dead_ck check (length(on_dead) between 1 and 200),
  add column on_dead_queue text collate "C"
    constraint queue_on_dead_queue_ck check (on_dead_queue ~ '^[a-z0-9][a-z0-9_.:-]{0,62}$');
