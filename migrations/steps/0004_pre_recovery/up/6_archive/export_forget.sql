-- Promise: the record of an export that was given up goes, and with it what it asks of retire; files
--   stay where they are. Answers done | lost (there is none) | kept (rows are in those files alone,
--   so the record stays). Audited.
-- Parameters: p_day; p_label.
-- Locks: the day's row in export_claim, SKIP LOCKED: busy while its exporter is at work.
-- Index: export_claim_pk, exported_pk, export_part_pk.
create function emq.export_forget(p_day date, p_label text default null) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  e emq.exported;
  v_n bigint;
begin
  perform from emq.export_claim c where c.day = p_day for update skip locked;
  if not found and exists (select from emq.export_claim c where c.day = p_day)
     or emq.export_at_work(p_day) then
    return 'busy';
  end if;
  select x.* into e from emq.exported x where x.day = p_day for update;
  if e.removed > 0 or e.retiring_since is not null then
    return 'kept';
  end if;
  with p as (delete from emq.export_part x where x.day = p_day returning 1),
       d as (delete from emq.exported x where x.day = p_day returning 1),
       c as (delete from emq.export_claim x where x.day = p_day)
  select (select count(*) from p) + (select count(*) from d) into v_n;
  if v_n = 0 then
    return 'lost';
  end if;
  insert into emq.audit (verb, label, detail)
  values ('export forget', p_label,
          jsonb_build_object('day', p_day, 'version', e.version, 'location', e.location));
  return 'done';
end $$;
revoke all on function emq.export_forget from public;
