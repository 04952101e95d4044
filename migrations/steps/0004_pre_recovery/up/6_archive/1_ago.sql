-- Promise: the instant so long ago; null for null. What is longer than PostgreSQL can count back is for
--   ever.
-- Parameters: p_retention. Days and months are counted in the time zone of the caller, which is UTC.
-- Locks: none.
-- Index: none. INVOKER and stable, so that it is inlined: it is asked for each queue and each day.
create function emq.ago(p_retention interval) returns timestamptz
language sql stable
as $$
  select case when p_retention > interval '5000 years' then '-infinity'
              else statement_timestamp() - p_retention end
$$;
revoke all on function emq.ago from public;
