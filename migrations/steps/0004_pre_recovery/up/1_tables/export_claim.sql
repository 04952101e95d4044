-- Holds: one row for each day that was ever taken up by an exporter: who has it, under which fence
-- (null: nobody). What is recorded of an export is recorded under that fence, so an exporter that was
-- frozen, or that another took over from, records nothing. `version` is the one that is being written,
-- or was last. `series` is in the manifests: within a series a higher version replaces a lower one. It
-- is another one once the records of the day were given up. `session` and `seen_at` tell whether the
-- exporter seems to be at work; they decide nothing.
create table emq.export_claim (
  day date constraint export_claim_pk primary key,
  series uuid not null default gen_random_uuid(),
  version int,
  fence bigint,
  session bigint,
  seen_at timestamptz,
  who text
);
revoke all on emq.export_claim from public;
