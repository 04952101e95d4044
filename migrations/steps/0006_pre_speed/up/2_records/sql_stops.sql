-- Promise: of these jobs, those whose SQL an operator wants ended (see stop_sql): by the cancel that
--   came within a minute of the wish, however much later it is asked; and without one (the job was
--   busy) for that minute, so that a plain cancel of another day ends no SQL.
-- Parameters: p_ids.
-- Locks: none.
-- Index: audit_id_idx.
create or replace function emq.sql_stops(p_ids uuid[]) returns uuid[]
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
  select coalesce(array_agg(u), '{}') from unnest(p_ids) u
   where exists (
     select from emq.audit a
      where a.id = u and a.verb = 'stop sql'
        and (a.at > clock_timestamp() - interval '1 min'
             or exists (select from emq.audit c
                         where c.id = u and c.verb = 'cancel'
                           and c.at between a.at and a.at + interval '1 min')))
$$;
revoke all on function emq.sql_stops from public;
