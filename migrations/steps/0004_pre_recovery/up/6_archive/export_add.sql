-- Promise: records a file of a day's export that was written and read back: an export that is killed
--   goes on behind its last row. Nothing is recorded under a stale fence (EQ001), so of two exporters
--   one has its files on record, whatever both have written.
-- Parameters: p_fence as export_begin answered it; else what the columns of export_part hold. No file that
--   is there already may be named: a path is written once.
-- Locks: the day's row in export_claim.
-- Index: export_claim_pk, export_part_pk.
create function emq.export_add(
  p_day date, p_fence bigint, p_version int, p_part int, p_rows bigint, p_bytes bigint, p_min_id uuid,
  p_max_id uuid, p_max_at timestamptz, p_checksum text, p_location text, p_path text
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform emq.export_extend(p_day, p_fence);
  insert into emq.export_part
    (day, version, part, rows, bytes, min_id, max_id, max_at, checksum, location, path)
  values (p_day, p_version, p_part, p_rows, p_bytes, p_min_id, p_max_id, p_max_at, p_checksum,
          p_location, p_path);
end $$;
revoke all on function emq.export_add from public;
