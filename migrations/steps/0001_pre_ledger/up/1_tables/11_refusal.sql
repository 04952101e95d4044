-- Holds: one row for each stale call that was refused. `held` is the fence that holds the job at
-- that moment, null when nobody does.
create table emq.refusal (
  at timestamptz not null default clock_timestamp(),
  id uuid not null,
  fence bigint,
  held bigint,
  verb text not null
);

create index refusal_id_idx on emq.refusal (id);
