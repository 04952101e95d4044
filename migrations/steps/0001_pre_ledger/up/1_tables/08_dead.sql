-- Holds: dead letters: jobs out of budget, kept until somebody acts. The envelope stays in job.
create table emq.dead (
  id uuid constraint dead_pk primary key,
  died_at timestamptz not null default clock_timestamp(),
  fence bigint,
  attempts int not null,
  rank smallint not null,
  stalled smallint not null,
  failures smallint not null,
  queue text collate "C" not null,
  reason text not null,
  error text
);
