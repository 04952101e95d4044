-- Promise: whether rows of a closed day, and their envelopes, may be deleted in this transaction: yes
--   (it need not be exported, or each of its rows is in a verified export and none comes before the
--   end of this transaction) | unexported (export_first is set, or an export was begun, and there is
--   no verified one) | late (rows came after the export: export it again) | busy (its exporter is at
--   work; one that seems not to be is taken over from, so that it records nothing of what it read).
-- Parameters: p_day in UTC.
-- Locks: the day's row in export_claim, SKIP LOCKED; the day's row in exported to the end of the transaction; the
--   first time SHARE ROW EXCLUSIVE on its partition, under the caller's lock_timeout (55P03).
-- Index: export_claim_pk, exported_pk, export_part_pk.
-- A row that comes late must not lose its envelope before it is exported. So the rows are counted
-- against the export before the first one goes, and from then on a trigger makes whoever adds a row
-- take back that comparison (late_row.sql). Under the row lock nobody can.
create function emq.export_stands(p_day date) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_t text := 'archive_' || to_char(p_day, 'YYYYMMDD');
  e emq.exported;
  v_n bigint;
begin
  insert into emq.export_claim (day) values (p_day) on conflict on constraint export_claim_pk do nothing;
  perform from emq.export_claim c where c.day = p_day for update skip locked;
  if not found or emq.export_at_work(p_day) then
    return 'busy';
  end if;
  update emq.export_claim c set fence = null where c.day = p_day and c.fence is not null;
  select x.* into e from emq.exported x where x.day = p_day for update;
  if e.verified_at is null then
    return case when found or (select m.export_first from emq.meta m)
                     or exists (select from emq.export_part x where x.day = p_day)
                then 'unexported' else 'yes' end;
  end if;
  if not e.compared then
    execute format('lock table emq.%I in share row exclusive mode', v_t);
    execute format('select count(*) from emq.%I', v_t) into v_n;
    if v_n + e.removed <> e.rows then
      return 'late';
    end if;
    execute format('create or replace trigger late_row after insert on emq.%I
                      for each row execute function emq.late_row()', v_t);
    update emq.exported x
       set compared = true, retiring_since = coalesce(x.retiring_since, clock_timestamp())
     where x.day = p_day;
  end if;
  return 'yes';
end $$;
revoke all on function emq.export_stands from public;
