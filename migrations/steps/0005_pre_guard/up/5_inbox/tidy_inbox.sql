-- Promise: one step of forgetting keys of the inbox that are older than the ledger's inbox_retention.
--   Null when there are none.
-- Parameters: p_limit rows.
-- Locks: the rows deleted.
-- Index: inbox_at_idx.
create function emq.tidy_inbox(
  p_limit int, out did text, out what text, out remaining bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  v_before timestamptz;
  n bigint;
begin
  select emq.ago(m.inbox_retention) into v_before from emq.meta m;
  with x as materialized (
    select r.ctid as c from emq.inbox r where r.at < v_before order by r.at limit p_limit
  )
  delete from emq.inbox r using x where r.ctid = x.c;
  get diagnostics n = row_count;
  if n > 0 then
    did := 'deleted';
    what := 'inbox';
  end if;
end $$;
revoke all on function emq.tidy_inbox from public;
