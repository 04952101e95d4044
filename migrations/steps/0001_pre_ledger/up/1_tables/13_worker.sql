-- Holds: the workers that said they are there, for people to look at. Recovery never reads it.
create table emq.worker (
  name text constraint worker_pk primary key,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  queues text[] not null,
  slots int not null,
  version text not null
);
