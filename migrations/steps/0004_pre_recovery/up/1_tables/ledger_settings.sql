-- Holds: how long history is kept where a queue says nothing, whether a day must be exported before
-- it goes, and where this ledger is at home: a copy finds itself elsewhere.
-- Locks: ACCESS EXCLUSIVE on emq.meta for an instant; nothing is rewritten.
alter table emq.meta
  add column retention interval not null default '30 days'
    constraint meta_retention_ck check (retention >= interval '1 hour'),
  add column audit_retention interval not null default '1 year'
    constraint meta_audit_retention_ck check (audit_retention >= interval '1 day'),
  add column export_first boolean not null default false,
  add column home text;
