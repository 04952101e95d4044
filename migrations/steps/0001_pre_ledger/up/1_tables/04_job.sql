-- Holds: the envelope of each job, written once and read by primary key only, from enqueue until
-- its archive partition is retired. That this row exists is what makes a repeated id a duplicate.
-- `enqueued_at` is clock_timestamp() and not now(): retention compares it with finished_at, and
-- the now() of a long transaction may be older than the job it replaces.
-- `max_attempts` and `lease_ms` null mean: the queue's setting when somebody asks.
create table emq.job (
  id uuid constraint job_pk primary key,
  enqueued_at timestamptz not null default clock_timestamp(),
  lease_ms int constraint job_lease_ck check (lease_ms between 200 and 86400000),
  priority smallint not null constraint job_priority_ck check (priority between 0 and 4),
  max_attempts smallint constraint job_max_attempts_ck check (max_attempts > 0),
  queue text collate "C" not null,
  task text not null constraint job_task_ck check (length(task) between 1 and 200),
  payload jsonb not null constraint job_payload_ck check (jsonb_typeof(payload) = 'object'),
  headers jsonb constraint job_headers_ck check (jsonb_typeof(headers) = 'object')
);
