-- Holds: when reap ran last and what it did: a row for each reap that found something, and one
-- every few seconds when there is nothing to find. Kept for a day. It is deleted from, so it has a
-- key: without one, a publication of all tables would make the delete fail, and each reap with it.
create table emq.reap_log (
  n bigint generated always as identity constraint reap_log_pk primary key,
  at timestamptz not null default clock_timestamp(),
  recovered int not null,
  dead int not null,
  skipped int not null,
  who text not null
);

create index reap_log_at_idx on emq.reap_log (at);
