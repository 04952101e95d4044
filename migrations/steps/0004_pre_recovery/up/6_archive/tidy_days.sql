-- Promise: one step of retiring the oldest day of the archive that is past the longest retention (see
--   retire.sql, which leaves the audit row). A day that may not go, because it is not exported, keeps
--   no other waiting; one to which rows came after its export is looked at again ten minutes later,
--   since that counts them. Null when there is none.
-- Parameters: p_limit rows.
-- Locks: those of retire.
-- Index: those of retire; exported_pk.
create function emq.tidy_days(
  p_limit int, out did text, out what text, out remaining bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kept_from timestamptz := emq.kept_from();
  p record;
  v_status text;
begin
  for p in
    select x.day, x.name
      from emq.days_of('archive') x
     where x.last <= v_kept_from
       and (not (select m.export_first from emq.meta m)
            or exists (select from emq.exported e
                        where e.day = x.day and e.verified_at is not null))
       and not exists (select from emq.tidying t
                        where t.what = x.name and t.ended_at > clock_timestamp() - interval '10 min')
     order by 1
  loop
    select r.status, r.remaining into v_status, remaining from emq.retire(p.day, p_limit) r;
    did := case v_status when 'more' then 'retired' when 'dropped' then 'dropped'
                         when 'busy' then 'busy' end;
    if v_status = 'dropped' then
      delete from emq.tidying t where t.what = p.name;
    elsif v_status = 'late' then
      insert into emq.tidying (what, ended_at) values (p.name, clock_timestamp())
      on conflict on constraint tidying_pk do update set ended_at = excluded.ended_at;
    end if;
    if did is not null then
      what := p.name;
      return;
    end if;
  end loop;
end $$;
revoke all on function emq.tidy_days from public;
