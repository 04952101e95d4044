-- Holds: one row for each file of a day's export, committed after the file was written and read back.
-- So an export that was killed goes on behind the last one: the rows of a part follow on (max_id,
-- max_at) of the one before it. A further version of a day has rows that came after the first, and
-- its parts are numbered on.
create table emq.export_part (
  day date not null,
  version int not null constraint export_part_version_ck check (version > 0),
  part int not null constraint export_part_part_ck check (part >= 0),
  rows bigint not null constraint export_part_rows_ck check (rows > 0),
  bytes bigint not null,
  min_id uuid not null,
  max_id uuid not null,
  max_at timestamptz not null,
  checksum text not null constraint export_part_checksum_ck check (checksum ~ '^[0-9a-f]{64}$'),
  location text not null,
  path text not null,
  written_at timestamptz not null default clock_timestamp(),
  constraint export_part_pk primary key (day, version, part)
);
revoke all on emq.export_part from public;
