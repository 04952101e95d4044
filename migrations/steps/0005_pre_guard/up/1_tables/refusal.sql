-- Holds: of each refused call also whose it was and what it cost: `late` is how long its lease had
-- been over, `overlap` how long it ran on beside a later attempt; null when nothing is known of it.
alter table emq.refusal
  add column task text,
  add column queue text collate "C",
  add column worker text,
  add column attempts int,
  add column late interval,
  add column overlap interval;
