-- Promise: the instant so long ago; null for null. What is longer than PostgreSQL can count back is for
--   ever.
-- Parameters: p_retention. Days and months are counted in UTC, as the days of the archive are.
-- Locks: none.
-- Index: none.
create function emq.ago(p_retention interval) returns timestamptz
language sql stable security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
  select case when p_retention > interval '5000 years' then '-infinity'
              else clock_timestamp() - p_retention end
$$;
revoke all on function emq.ago from public;
