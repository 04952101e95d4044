-- Promise: the partitions of a day that the archive, or the attempts, have; oldest first.
-- Parameters: p_parent archive | attempt.
-- Locks: none; ACCESS SHARE on the catalogue.
-- Index: pg_inherits_parent_index.
create function emq.days_of(p_parent text)
returns table (day date, name text, first timestamptz, last timestamptz)
language sql stable security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
  select d.day, d.name, d.day::timestamptz, (d.day + 1)::timestamptz
    from (select to_date(right(c.relname, 8), 'YYYYMMDD') as day, c.relname::text as name
            from pg_inherits i
            join pg_class c on c.oid = i.inhrelid
           where i.inhparent = ('emq.' || quote_ident(p_parent))::regclass
             and c.relname ~ ('^' || p_parent || '_\d{8}$')) d
   order by d.day
$$;
revoke all on function emq.days_of from public;
