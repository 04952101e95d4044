-- Holds: optional settings of a queue. A queue without a row has the defaults, and enqueue makes
-- no row: a new name inside a long transaction must not make anybody wait. Names collate "C", so
-- that plans and the grammar do not depend on the database's locale.
create table emq.queue (
  name text collate "C"
    constraint queue_pk primary key
    constraint queue_name_ck check (name ~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'),
  paused boolean not null default false,
  lease interval not null default '30 s'
    constraint queue_lease_ck check (lease between interval '200 ms' and interval '1 day'),
  max_attempts smallint not null default 25
    constraint queue_max_attempts_ck check (max_attempts > 0),
  max_stalled smallint not null default 3
    constraint queue_max_stalled_ck check (max_stalled > 0),
  retention interval
    constraint queue_retention_ck check (retention > interval '0')
);
