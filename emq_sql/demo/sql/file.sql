-- Holds: the files to measure: a row for each, inserted in the transaction that enqueues its job, so
-- that a file has a row exactly when it has a job.
create table demo.file (
  path text constraint file_pk primary key,
  job_id uuid not null constraint file_job_id_key unique,
  size bigint not null,
  found_at timestamptz not null default clock_timestamp()
);
