-- Promise: one step of forgetting refusals and late extensions that are older than the longest
--   retention, and what operators did longer ago than audit_retention. Null when there are none.
-- Parameters: p_limit rows.
-- Locks: the rows deleted.
-- Index: refusal_at_idx, late_at_idx, audit_at_idx.
create function emq.tidy_records(
  p_limit int, out did text, out what text, out remaining bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  v_before timestamptz := emq.kept_from();
  n bigint;
begin
  foreach what in array array['refusal', 'late', 'audit'] loop
    if what = 'audit' then
      select emq.ago(m.audit_retention) into v_before from emq.meta m;
    end if;
    execute format(
      'with x as materialized (
         select r.ctid as c from emq.%I r where r.at < $1 order by r.at limit $2
       )
       delete from emq.%I r using x where r.ctid = x.c', what, what)
      using v_before, p_limit;
    get diagnostics n = row_count;
    if n > 0 then
      did := 'deleted';
      return;
    end if;
  end loop;
  what := null;
end $$;
revoke all on function emq.tidy_records from public;
