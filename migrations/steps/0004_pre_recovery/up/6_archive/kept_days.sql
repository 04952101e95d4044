-- Promise: each day of the archive that is in the database, oldest first, and what retention will do
--   with it; then, without a day, the rows that lie in none, if there are any. `rows` is an estimate,
--   null where there is none yet. state: open (not over by an hour) | kept (until goes_at) | due |
--   retiring (its envelopes go). exported: no | begun | verified | damaged.
-- Parameters: none.
-- Locks: none; ACCESS SHARE on each partition while its size is read.
-- Index: exported_pk, export_part_pk, retiring_pk.
create function emq.kept_days()
returns table (
  day date, name text, rows bigint, bytes bigint, state text, goes_at timestamptz, exported text
)
language sql stable security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
  with n as (select clock_timestamp() as at, emq.kept_from() as kept_from)
  select d.day, d.name, nullif(c.reltuples, -1)::bigint, pg_total_relation_size(c.oid),
         case when exists (select from emq.retiring r where r.day = d.day) then 'retiring'
              when n.at < d.last + interval '1 hour' then 'open'
              when d.last <= n.kept_from then 'due'
              else 'kept' end,
         case when isfinite(n.kept_from)
              then date_trunc('minute', d.last + (n.at - n.kept_from) + interval '1 s') end,
         case when e.day is not null
                then case when e.verified_at is null then 'damaged' else 'verified' end
              when exists (select from emq.export_part x where x.day = d.day) then 'begun'
              else 'no' end
    from n
    cross join emq.days_of('archive') d
    join pg_class c on c.oid = to_regclass(format('emq.%I', d.name))
    left join emq.exported e on e.day = d.day
  union all
  select null, 'archive_default', nullif(c.reltuples, -1)::bigint, pg_total_relation_size(c.oid),
         'kept', null, 'no'
    from pg_class c
   where c.oid = 'emq.archive_default'::regclass and exists (select from emq.archive_default)
   order by 1
$$;
revoke all on function emq.kept_days from public;
