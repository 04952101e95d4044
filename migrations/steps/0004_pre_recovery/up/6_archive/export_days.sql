-- Promise: the days that have a partition of the archive, oldest first, with the version of their
--   export, where it lies, whether it is verified; nulls where there is none.
-- Parameters: p_until, the last day of interest.
-- Locks: none.
-- Index: exported_pk.
create function emq.export_days(p_until date)
returns table (day date, version int, location text, verified boolean)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select d.day, e.version, e.location, e.verified_at is not null
    from emq.days_of('archive') d
    left join emq.exported e on e.day = d.day
   where d.day <= p_until
   order by d.day
$$;
revoke all on function emq.export_days from public;
