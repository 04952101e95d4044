-- Holds: one narrow row for each finished job, append-only, a partition a day of finished_at (UTC).
-- `fence` is the one that completed the job, and null for every other end: the repeat branch of
-- `complete` would otherwise take a cancelled holder for the one that completed.
-- The index on id is not unique (it would need finished_at): that a job completes once is assured
-- by the delete from active that feeds this table.
create table emq.archive (
  id uuid not null,
  fence bigint,
  finished_at timestamptz not null,
  claimed_at timestamptz,
  attempts int not null,
  stalled smallint not null,
  failures smallint not null,
  status text not null
    constraint archive_status_ck check (
      status in ('completed', 'cancelled', 'discarded')
      and (fence is not null) = (status = 'completed')
    ),
  queue text collate "C" not null,
  worker text,
  result jsonb
) partition by range (finished_at);

create index archive_id_idx on emq.archive (id);
create table emq.archive_default partition of emq.archive default;
