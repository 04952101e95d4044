-- Holds: one row for each extension that came after its lease_deadline and before anybody had taken
-- the job back: its holder was silent for longer than it may be, and was lucky.
create table emq.late (
  n bigint generated always as identity constraint late_pk primary key,
  at timestamptz not null default clock_timestamp(),
  id uuid not null,
  fence bigint not null,
  lease_deadline timestamptz not null
);

create index late_id_idx on emq.late (id);
create index late_at_idx on emq.late (at);
revoke all on emq.late from public;
