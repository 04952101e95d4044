-- Holds: one row for each day whose export is complete. `rows`, `parts`, `bytes` and the ids are those
-- of all files of the day at `location`; `checksum` is the SHA-256 of its manifest. `verified_at` is
-- null when the files were found to be damaged. `removed` counts the rows that have gone from the
-- database since: rows = removed + those that the day's partition still has, or there are late ones.
-- `compared`: that was so when retention began, and no row has come to the day since. Who deletes from
-- the archive asks export_stands first, and adds to `removed` in the same transaction. From
-- `retiring_since` on rows or envelopes may have gone, so the files cannot be written anew.
create table emq.exported (
  day date constraint exported_pk primary key,
  version int not null,
  parts int not null,
  rows bigint not null,
  bytes bigint not null,
  min_id uuid,
  max_id uuid,
  checksum text not null constraint exported_checksum_ck check (checksum ~ '^[0-9a-f]{64}$'),
  location text not null,
  schema_version int not null,
  verified_at timestamptz,
  removed bigint not null default 0,
  compared boolean not null default false,
  retiring_since timestamptz,
  dropped_at timestamptz,
  who text not null default session_user
);
revoke all on emq.exported from public;
