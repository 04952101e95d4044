-- Promise: records a file of a day's export that was written and read back: an export that is killed
--   goes on behind its last row.
-- Parameters: what the columns of export_part hold.
-- Locks: none but its own row's.
-- Index: export_part_pk: two exporters of one day cannot both have part n.
create function emq.export_add(
  p_day date, p_version int, p_part int, p_rows bigint, p_bytes bigint, p_min_id uuid,
  p_max_id uuid, p_max_at timestamptz, p_checksum text, p_location text, p_path text
) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  insert into emq.export_part
    (day, version, part, rows, bytes, min_id, max_id, max_at, checksum, location, path)
  values (p_day, p_version, p_part, p_rows, p_bytes, p_min_id, p_max_id, p_max_at, p_checksum,
          p_location, p_path)
$$;
revoke all on function emq.export_add from public;
