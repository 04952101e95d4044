-- Holds: the files to measure: a row for each, inserted in the transaction that enqueues its job, so
-- that a file has a row exactly when it has a job. A path is there once; by a hash index, because a
-- path may be longer than what fits into a row of a B-tree.
create table demo.file (
  job_id uuid constraint file_pk primary key,
  path text not null,
  size bigint not null,
  found_at timestamptz not null default clock_timestamp(),
  constraint file_path_excl exclude using hash (path with =)
);
