-- Holds: one row for each effect that must not be had twice, whichever job or attempt has it: it is
-- inserted in the effect's own transaction, and kept for the ledger's inbox_retention.
create table emq.inbox (
  key text collate "C" constraint inbox_pk primary key,
  at timestamptz not null default clock_timestamp(),
  id uuid not null,
  fence bigint not null,
  constraint inbox_key_ck check (length(key) between 1 and 500)
);

create index inbox_at_idx on emq.inbox (at);
revoke all on emq.inbox from public;

alter table emq.meta
  add column inbox_retention interval not null default '30 days'
    constraint meta_inbox_retention_ck check (inbox_retention >= interval '1 hour');
comment on constraint meta_inbox_retention_ck on emq.meta is 'inbox_retention is 1 hour or more';
