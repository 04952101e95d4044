-- Promise: the caller still has the day that it took up under this fence, to the end of the transaction;
--   else EQ001: another exporter, or retention, has taken it over.
-- Parameters: p_day; p_fence as export_begin answered it.
-- Locks: the day's row in export_claim.
-- Index: export_claim_pk.
create function emq.export_extend(p_day date, p_fence bigint) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update emq.export_claim c set seen_at = clock_timestamp(), session = pg_backend_pid()
   where c.day = p_day and c.fence = p_fence;
  if not found then
    raise exception 'emq: the export of % was taken over by another session', p_day
      using errcode = 'EQ001',
            hint = 'What was written since is not recorded. Run the export again when that one has ended.';
  end if;
end $$;
revoke all on function emq.export_extend from public;
