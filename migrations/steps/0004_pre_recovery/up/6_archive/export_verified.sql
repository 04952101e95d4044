-- Promise: what a look at the files of an exported day has found. While they are found damaged the day
--   is not retired. Answers whether there is such an export; a finding that is no news changes
--   verified_at alone, any other is audited.
-- Parameters: p_day; p_version of the record that was looked at, so that a look at files that were
--   replaced says nothing of the others; p_location where they lie; p_damage null when they are as recorded.
-- Locks: the day's row.
-- Index: exported_pk.
create function emq.export_verified(
  p_day date, p_version int, p_location text, p_damage text
) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  e emq.exported;
begin
  select x.* into e from emq.exported x
   where x.day = p_day and x.version = p_version and x.location = p_location for update;
  if not found then
    return false;
  end if;
  update emq.exported x set verified_at = case when p_damage is null then clock_timestamp() end
   where x.day = p_day;
  if (e.verified_at is null) <> (p_damage is not null) then
    insert into emq.audit (verb, detail)
    values ('verify', jsonb_build_object('day', p_day, 'location', p_location, 'damage', p_damage));
  end if;
  return true;
end $$;
revoke all on function emq.export_verified from public;
