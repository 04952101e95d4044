-- Holds: what each setting may be, in words: who gives another value is told this, not the name of a
-- constraint.
comment on constraint queue_lease_ck on emq.queue is 'lease is 200 ms to 1 day';
comment on constraint queue_max_attempts_ck on emq.queue is 'max_attempts is 1 to 32767';
comment on constraint queue_max_stalled_ck on emq.queue is 'max_stalled is 1 to 32767';
comment on constraint queue_max_active_ck on emq.queue is 'max_active is 1 or more';
comment on constraint queue_retention_ck on emq.queue is 'retention is more than nothing';
comment on constraint queue_cancelled_retention_ck on emq.queue is
  'cancelled_retention is more than nothing';
comment on constraint queue_dead_retention_ck on emq.queue is 'dead_retention is more than nothing';
comment on constraint queue_replay_within_ck on emq.queue is 'replay_within is 0 (never) or more';
comment on constraint queue_unknown_after_ck on emq.queue is 'unknown_after is more than nothing';
comment on constraint queue_quarantine_ck on emq.queue is
  'quarantine is the name of another queue: lower-case letters, digits and _ . : -';
comment on constraint queue_quarantine_after_ck on emq.queue is
  'quarantine_after is 1 to 32767, and less than max_stalled';
comment on constraint queue_on_dead_ck on emq.queue is
  'on_dead is the name of a task, 1 to 200 characters';
comment on constraint queue_on_dead_queue_ck on emq.queue is
  'on_dead_queue is the name of a queue: lower-case letters, digits and _ . : -';
comment on constraint meta_retention_ck on emq.meta is 'retention is 1 hour or more';
comment on constraint meta_audit_retention_ck on emq.meta is 'audit_retention is 1 day or more';
