-- Holds: what operators did, append-only: who (the login role), with which label, to what.
create table emq.audit (
  at timestamptz not null default clock_timestamp(),
  verb text not null,
  queue text collate "C",
  id uuid,
  who text not null default session_user,
  label text,
  detail jsonb
);

create index audit_at_idx on emq.audit (at);
