-- Promise: of these jobs, those whose SQL an operator wants ended (see stop_sql).
-- Parameters: p_ids.
-- Locks: none.
-- Index: audit_id_idx.
create function emq.sql_stops(p_ids uuid[]) returns uuid[]
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
  select coalesce(array_agg(u), '{}') from unnest(p_ids) u
   where exists (select from emq.audit a where a.id = u and a.verb = 'stop sql')
$$;
revoke all on function emq.sql_stops from public;
