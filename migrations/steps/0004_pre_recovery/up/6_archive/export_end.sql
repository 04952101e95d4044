-- Promise: the exporter that took up a day lets go of it; of one that another has taken over nothing
--   happens.
-- Parameters: p_day; p_fence as export_begin answered it.
-- Locks: the day's row in export_claim.
-- Index: export_claim_pk.
create function emq.export_end(p_day date, p_fence bigint) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  update emq.export_claim c set fence = null where c.day = p_day and c.fence = p_fence
$$;
revoke all on function emq.export_end from public;
