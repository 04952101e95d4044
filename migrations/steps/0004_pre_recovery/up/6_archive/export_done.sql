-- Promise: the parts of this version, and those of the versions that it goes on from, are the export
--   of the day: from this commit on it may be retired, if no other row has come. Nothing is recorded
--   under a stale fence (EQ001). Audited.
-- Parameters: p_day; p_fence and p_version as export_begin answered them (a version that is not above
--   the recorded one: EQ004); p_late likewise: false
--   forgets the parts of former versions, whose files were written anew; p_checksum of the manifest.
-- Locks: the rows of the day.
-- Index: export_claim_pk, exported_pk, export_part_pk.
create function emq.export_done(
  p_day date, p_fence bigint, p_version int, p_late boolean, p_location text, p_checksum text
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  e emq.exported;
begin
  perform emq.export_extend(p_day, p_fence);
  select x.* into e from emq.exported x where x.day = p_day for update;
  if p_version is null or p_version <= e.version then
    raise exception 'emq: the export of % is at version %, so % cannot be the next', p_day,
      coalesce(e.version, 0), p_version
      using errcode = 'EQ004', hint = 'Another session exported it meanwhile: begin again.';
  end if;
  if not p_late then
    delete from emq.export_part x where x.day = p_day and x.version < p_version;
  end if;
  insert into emq.exported as x
    (day, version, parts, rows, bytes, min_id, max_id, checksum, location, schema_version, verified_at)
  select p_day, p_version, count(p.part), coalesce(sum(p.rows), 0), coalesce(sum(p.bytes), 0),
         (array_agg(p.min_id order by p.min_id))[1], (array_agg(p.max_id order by p.max_id desc))[1],
         p_checksum, p_location, (select m.version from emq.meta m), clock_timestamp()
    from emq.export_part p where p.day = p_day
  on conflict on constraint exported_pk do update set
    version = excluded.version, parts = excluded.parts, rows = excluded.rows,
    bytes = excluded.bytes, min_id = excluded.min_id, max_id = excluded.max_id,
    checksum = excluded.checksum, location = excluded.location,
    schema_version = excluded.schema_version, verified_at = excluded.verified_at,
    compared = false, dropped_at = null, who = excluded.who;
  insert into emq.audit (verb, detail)
  select 'export', jsonb_build_object('day', x.day, 'version', x.version, 'rows', x.rows,
                                      'location', x.location, 'checksum', x.checksum)
    from emq.exported x where x.day = p_day;
end $$;
revoke all on function emq.export_done from public;
