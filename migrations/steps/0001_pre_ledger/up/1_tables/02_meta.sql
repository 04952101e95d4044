-- Holds: one row about the ledger itself. `version` is the newest numbered step that was applied,
-- `ledger_id` tells one ledger from another wherever it is restored or copied to, `environment`
-- is the tag that a worker compares with its own before it runs anything.
create table emq.meta (
  one boolean not null default true
    constraint meta_pk primary key
    constraint meta_one_ck check (one),
  version int not null default 0,
  ledger_id uuid not null default gen_random_uuid(),
  environment text,
  installed_at timestamptz not null default clock_timestamp(),
  upgraded_at timestamptz not null default clock_timestamp()
);
insert into emq.meta default values;
