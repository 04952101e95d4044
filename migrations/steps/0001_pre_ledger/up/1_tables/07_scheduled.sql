-- Holds: jobs that wait for an instant: delayed ones, and retries. `promote` moves the due ones
-- into the line, so that a claim never walks rows of the future.
create table emq.scheduled (
  run_at timestamptz not null,
  id uuid not null,
  attempts int not null default 0,
  lease_ms int,
  rank smallint not null,
  stalled smallint not null default 0,
  failures smallint not null default 0,
  queue text collate "C" not null,
  constraint scheduled_pk primary key (run_at, id)
);
