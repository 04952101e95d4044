-- Holds: one row for each claim that ended without completion (failed, stalled, snoozed, released,
-- cancelled), append-only, a partition a day of ended_at (UTC). Nothing is written here on the
-- happy path.
create table emq.attempt (
  id uuid not null,
  fence bigint not null,
  ended_at timestamptz not null,
  claimed_at timestamptz not null,
  lease_deadline timestamptz not null,
  extensions int not null,
  how text not null,
  queue text collate "C" not null,
  worker text not null,
  error text
) partition by range (ended_at);

create index attempt_id_idx on emq.attempt (id);
create table emq.attempt_default partition of emq.attempt default;
