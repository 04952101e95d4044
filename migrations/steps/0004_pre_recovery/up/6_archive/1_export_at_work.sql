-- Promise: whether the exporter that has a day seems to be at work: it was seen in the last five minutes,
--   and its session is there. For good manners only: who comes when it is not takes the day over, and
--   the fence keeps the former one from recording anything.
-- Parameters: p_day.
-- Locks: none.
-- Index: export_claim_pk.
create function emq.export_at_work(p_day date) returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from emq.export_claim c
                  where c.day = p_day and c.fence is not null
                    and c.seen_at > clock_timestamp() - interval '5 min'
                    and exists (select from pg_stat_get_activity(c.session::int)))
$$;
revoke all on function emq.export_at_work from public;
