-- Holds: each run of a handler, written beside its transactions: who ran, until when its lease went,
-- and how it ended; `ended` stays null of a run that was killed.
create table emq.lab_run (
  cell int not null,
  attempts int not null,
  pid int not null,
  lease_deadline timestamptz not null,
  ended text,
  constraint lab_run_pk primary key (cell, attempts)
);
