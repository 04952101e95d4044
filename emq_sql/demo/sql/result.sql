-- Holds: what was measured, a row for each completed run, append-only. There is no unique key, on
-- purpose: a result that was written twice stays visible, and the account counts it.
create table demo.result (
  path text not null,
  job_id uuid not null,
  fence bigint not null,
  attempts int not null,
  measured_by text not null,
  measured_at timestamptz not null default clock_timestamp(),
  size bigint,
  sha256 text,
  lines bigint,
  functions bigint,
  classes bigint,
  error text
);

create index result_job_id_idx on demo.result (job_id);
